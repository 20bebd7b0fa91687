import type { FastifyReply } from "fastify";
import { HttpError } from "../http/index.ts";
import type { Decision, Policy, RateLimiter } from "./rate-limiter.ts";

/** Counts a request and sets the rate-limit headers. Throws 429 with Retry-After if the request exceeds the limit. */
export async function enforceRateLimit(
  limiter: RateLimiter,
  policy: Policy,
  subject: string,
  reply: FastifyReply,
): Promise<void> {
  const decision = await limiter.take(policy, subject);
  setRateLimitHeaders(reply, policy, decision);
  if (decision.refusedBucket !== undefined) throw rateLimited(policy, decision);
}

type Reset = Pick<Decision, "resetMs">;
type Remaining = Reset & Pick<Decision, "remaining">;

export function setRateLimitHeaders(reply: FastifyReply, policy: Policy, decision: Remaining): void {
  for (const [name, value] of Object.entries(rateLimitHeaders(policy, decision))) reply.header(name, value);
}

export function rateLimitHeaders(policy: Policy, decision: Remaining): Record<string, string> {
  return {
    "ratelimit-policy": `"${policy.name}";q=${policy.limit};w=${policy.windowMs / 1_000}`,
    ratelimit: `"${policy.name}";r=${decision.remaining};t=${resetSeconds(decision)}`,
  };
}

export function rateLimited(policy: Policy, decision: Reset): HttpError {
  return new HttpError(429, "rate_limited", retryAfter(decision), { reason: policy.name });
}

export function retryAfter(decision: Reset): { "retry-after": string } {
  return { "retry-after": String(resetSeconds(decision)) };
}

function resetSeconds({ resetMs }: Reset): number {
  return Math.max(1, Math.ceil(resetMs / 1_000));
}
