export { type AuthDeps, authenticate, userBucket } from "./authenticate.ts";
export { describeLimit, operatorEndpoint } from "./operator-endpoint.plugin.ts";
export type { KeyResolver } from "./public-keys.client.ts";
