export { NONCE_PLACEHOLDER } from "./placeholders.ts";
