export { enforce } from "./enforce.ts";
export { POLICIES, type RateLimiter } from "./rate-limiter.ts";
