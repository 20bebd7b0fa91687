export { NONCE_PLACEHOLDER } from "./fill-page.ts";
