export { type Caller, type TokenVerifier, userBucket } from "./access-token.ts";
export type { KeyResolver } from "./public-keys.client.ts";
