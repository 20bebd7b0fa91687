export { hasBearerToken } from "./bearer-token.ts";
export { responseCloseSignal } from "./client-gone.ts";
export { HttpError } from "./http-error.ts";
export { createContentSecurityPolicy, createNonce } from "./security-headers.plugin.ts";
