export type { HashClient } from "./client-hash.ts";
export { enforceRateLimit } from "./enforce.ts";
export type { MalformedRequestLimiter } from "./malformed-requests.ts";
export { POLICIES, type Policy, type RateLimiter } from "./rate-limiter.ts";
export type { UnpaidReplyLimiter } from "./unpaid-replies.ts";
export { countVisitorMessage, visitorPolicy } from "./visitor-messages.ts";
