export { MAX_VISITOR_ID_CHARACTERS, requiredText } from "./chat-request.ts";
export { parseMessageId } from "./stop-request.ts";
