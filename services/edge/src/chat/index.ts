export { BotSlug, PublicKey, SessionId } from "./chat-request.ts";
export { MessageId } from "./stop-request.ts";
export { MessageSource } from "./stream-events.ts";
