export { invalidSessionId, MAX_VISITOR_ID_CHARACTERS, readOptionalText, readRequiredText } from "./chat-request.ts";
export { parseMessageId } from "./stop-request.ts";
