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

export function setRateLimitHeaders(
  reply: FastifyReply,
  policy: Policy,
  decision: Reset & Pick<Decision, "remaining">,
): void {
  reply.header("ratelimit-policy", `"${policy.name}";q=${policy.limit};w=${policy.windowMs / 1_000}`);
  reply.header("ratelimit", `"${policy.name}";r=${decision.remaining};t=${resetSeconds(decision)}`);
}

export function rateLimited(policy: Policy, decision: Reset): HttpError {
  const headers = { "retry-after": String(resetSeconds(decision)) };
  return new HttpError(429, "rate_limited", headers, { reason: policy.name });
}

function resetSeconds({ resetMs }: Reset): number {
  return Math.max(1, Math.ceil(resetMs / 1_000));
}
