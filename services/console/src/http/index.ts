export { hasBearerToken } from "./bearer-token.ts";
export { responseCloseSignal } from "./client-gone.ts";
export { HttpError } from "./http-error.ts";
export { createNonce, pagePolicy } from "./security-headers.plugin.ts";
