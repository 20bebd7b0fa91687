export { BotSlug, MAX_VISITOR_ID_CHARACTERS, PublicKey, SessionId } from "./chat-request.ts";
export { MessageId } from "./stop-request.ts";
