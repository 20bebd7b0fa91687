import type { FastifyReply } from "fastify";
import { HttpError } from "../http/index.ts";
import type { Policy, RateLimiter } from "./rate-limiter.ts";

/** Counts a request and sets the rate-limit headers. Throws 429 with Retry-After in whole seconds. */
export async function enforce(
  limiter: RateLimiter,
  policy: Policy,
  subject: string,
  reply: FastifyReply,
): Promise<void> {
  const { allowed, remaining, resetMs } = await limiter.take(policy, subject);
  const resetSeconds = Math.max(1, Math.ceil(resetMs / 1_000));
  reply.header("ratelimit-policy", `"${policy.name}";q=${policy.limit};w=${policy.windowMs / 1_000}`);
  reply.header("ratelimit", `"${policy.name}";r=${remaining};t=${resetSeconds}`);
  if (!allowed) throw new HttpError(429, "rate_limited", { "retry-after": String(resetSeconds) });
}
