// Separate from the package's main export, because undici takes long to load and most services never request a URL that a user entered.
export { createGuardedAgent } from "./agent.ts";
export { type GuardedFetchOptions, type GuardedResponse, guardedFetch, type ResponseHead } from "./guarded-fetch.ts";
export { createGuardedSender, type GuardedSender, type SentResponse } from "./guarded-sender.ts";
