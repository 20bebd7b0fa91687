export { clientGone } from "./client-gone.ts";
export { HttpError } from "./http-error.ts";
export { hasBearerToken } from "./same-origin.plugin.ts";
export { createNonce, pagePolicy } from "./security-headers.plugin.ts";
