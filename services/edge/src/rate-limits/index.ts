export { enforceRateLimit } from "./enforce.ts";
export type { MalformedRequestLimiter } from "./malformed-requests.ts";
export { POLICIES, type Policy, type RateLimiter } from "./rate-limiter.ts";
