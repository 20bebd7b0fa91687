export { requiredText } from "./chat-request.ts";
export { parseMessageId } from "./stop-request.ts";
