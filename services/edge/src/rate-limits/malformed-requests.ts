import type { FastifyReply, FastifyRequest } from "fastify";
import { LRUCache } from "lru-cache";
import { addressBucket, countedBuckets, type HttpError } from "../http/index.ts";
import { rateLimited, setRateLimitHeaders } from "./enforce.ts";
import { POLICIES, type RateLimiter } from "./rate-limiter.ts";

/**
 * Limits how many malformed requests an address, and its IPv6 networks, may send: requests that fail validation, are too large, or have a bad access token.
 * Above the limit, the routes with the hook `refuseOverLimit` refuse every request of the address before they read its body. They refuse
 * well-formed requests too, because finding out which requests are well-formed is the work that the limit saves.
 */
export type MalformedRequestLimiter = {
  /** Counts a malformed request. If its address has sent too many, returns the 429 to send instead of the request's own error. */
  count(request: FastifyRequest, reply: FastifyReply): Promise<HttpError | undefined>;
  /** An onRequest hook that reads only this process's memory. */
  refuseOverLimit(request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void): void;
};

/** Cache size. An evicted address or network is not refused until its next malformed request. */
const MAX_REFUSED = 10_000;

/**
 * With Redis, all replicas share the counts of `limiter`. Each replica has its own list of refused addresses.
 * @param now a monotonic clock in milliseconds.
 */
export function createMalformedRequestLimiter(limiter: RateLimiter, now: () => number): MalformedRequestLimiter {
  const policy = POLICIES.malformed;
  const refusedUntil = new LRUCache<string, number>({ max: MAX_REFUSED });

  function refusal(reply: FastifyReply, resetMs: number): HttpError {
    setRateLimitHeaders(reply, policy, { remaining: 0, resetMs });
    return rateLimited(policy, { resetMs });
  }

  return {
    async count(request, reply) {
      const { refusedBucket, resetMs } = await limiter.take(policy, addressBucket(request.ip));
      if (refusedBucket === undefined) return undefined;
      refusedUntil.set(refusedBucket, now() + resetMs);
      return refusal(reply, resetMs);
    },
    refuseOverLimit(request, reply, done) {
      const buckets = refusedUntil.size === 0 ? [] : countedBuckets(addressBucket(request.ip));
      const resetMs = Math.max(0, ...buckets.map(({ bucket }) => refusedUntil.get(bucket) ?? 0)) - now();
      if (resetMs > 0) done(refusal(reply, resetMs));
      else done();
    },
  };
}
