export { requiredText } from "./chat-request.ts";
