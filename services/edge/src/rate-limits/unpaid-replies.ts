import type { FastifyReply } from "fastify";
import { LRUCache } from "lru-cache";
import type { HttpError } from "../http/index.ts";
import { rateLimited, setRateLimitHeaders } from "./enforce.ts";
import { POLICIES, type Policy, type RateLimiter } from "./rate-limiter.ts";

/**
 * Limits how many unpaid replies a client of a workspace may leave in an hour and in a day. Above a limit, its new messages are refused. A client
 * is the hash of a workspace with a network or a user (HashClient).
 */
export type UnpaidReplyLimiter = {
  /** Counts an unpaid reply. Never rejects. */
  count(client: Uint8Array): Promise<void>;
  /** Whether the client is above a limit. Reads only this process's memory. */
  isRefused(client: Uint8Array): boolean;
  /** Returns the 429 for a new message of a client above a limit, and sets the rate-limit headers. Reads only this process's memory. */
  findRefusal(client: Uint8Array, reply: FastifyReply): HttpError | undefined;
};

/** Cache size. An evicted client is not refused until its next unpaid reply. */
const MAX_REFUSED = 10_000;

/**
 * With Redis, all replicas share the counts of `limiter`. Each replica has its own list of refused clients, so a client above the limit may leave
 * one more unpaid reply on each other replica.
 * @param now a monotonic clock in milliseconds.
 */
export function createUnpaidReplyLimiter(limiter: RateLimiter, now: () => number): UnpaidReplyLimiter {
  const refused = new LRUCache<string, { policy: Policy; untilMs: number }>({ max: MAX_REFUSED });
  const toSubject = (client: Uint8Array) => Buffer.from(client).toString("base64url");
  const find = (client: Uint8Array) => {
    const found = refused.get(toSubject(client));
    const resetMs = (found?.untilMs ?? 0) - now();
    return found === undefined || resetMs <= 0 ? undefined : { policy: found.policy, resetMs };
  };
  return {
    async count(client) {
      const subject = toSubject(client);
      for (const policy of [POLICIES.unpaidHour, POLICIES.unpaidDay]) {
        const decision = await limiter.take(policy, subject);
        if (decision.refusedBucket === undefined && decision.remaining > 0) continue;
        // `resetMs` of a refused request is the time until the oldest one leaves the window.
        const { resetMs } = decision.refusedBucket === undefined ? await limiter.take(policy, subject) : decision;
        const untilMs = now() + resetMs;
        if (untilMs > (refused.get(subject)?.untilMs ?? 0)) refused.set(subject, { policy, untilMs });
      }
    },
    isRefused: (client) => find(client) !== undefined,
    findRefusal(client, reply) {
      const found = find(client);
      if (found === undefined) return undefined;
      const { policy, resetMs } = found;
      setRateLimitHeaders(reply, policy, { remaining: 0, resetMs });
      return rateLimited(policy, { resetMs });
    },
  };
}
