export { type Caller, userBucket } from "./access-token.ts";
export { type AuthDeps, authenticate } from "./authenticate.ts";
export type { KeyResolver } from "./public-keys.client.ts";
