export { admitVisitor } from "./admit-visitor.ts";
export { type AuthDeps, authenticate, userBucket } from "./authenticate.ts";
export { describeLimit, operatorEndpoint } from "./operator-endpoint.plugin.ts";
export { type KeyResolver, TOO_MANY_UNKNOWN_KEYS } from "./public-keys.client.ts";
