// Separate from the package's main export, because undici takes long to load and most services make no guarded request.
export { createGuardedAgent } from "./agent.ts";
export { guardedFetch, type ResponseHead } from "./guarded-fetch.ts";
