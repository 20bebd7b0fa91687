export { type AuthDeps, authenticate, userBucket } from "./authenticate.ts";
export { authenticateOrCountFailure, requireOwner, requireViewer } from "./authorize.ts";
export type { KeyResolver } from "./public-keys.client.ts";
