export { type AuthDeps, authenticate, userBucket } from "./authenticate.ts";
export { authenticateOrCount, requireOwner, requireViewer } from "./authorize.ts";
export type { KeyResolver } from "./public-keys.client.ts";
