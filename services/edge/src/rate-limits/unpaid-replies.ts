import type { FastifyReply } from "fastify";
import { LRUCache } from "lru-cache";
import type { HttpError } from "../http/index.ts";
import { rateLimited, setRateLimitHeaders } from "./enforce.ts";
import { POLICIES, type Policy, type RateLimiter } from "./rate-limiter.ts";

/** A client of a workspace's bots. `bucket` is its network or its user. */
export type UnpaidClient = { workspaceId: string; bucket: string };

/** Limits how many unpaid replies a client may leave in an hour and in a day. Above a limit, its new messages are refused. */
export type UnpaidReplyLimiter = {
  /** Counts an unpaid reply. Never rejects. */
  count(client: UnpaidClient): Promise<void>;
  /** Returns the 429 for a new message of a client above a limit, and sets the rate-limit headers. Reads only this process's memory. */
  findRefusal(client: UnpaidClient, reply: FastifyReply): HttpError | undefined;
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
  const subjectOf = ({ workspaceId, bucket }: UnpaidClient) => `${workspaceId} ${bucket}`;
  return {
    async count(client) {
      const subject = subjectOf(client);
      for (const policy of [POLICIES.unpaidHour, POLICIES.unpaidDay]) {
        const decision = await limiter.take(policy, subject);
        if (decision.refusedBucket === undefined && decision.remaining > 0) continue;
        // `resetMs` of a refused request is the time until the oldest one leaves the window.
        const { resetMs } = decision.refusedBucket === undefined ? await limiter.take(policy, subject) : decision;
        const untilMs = now() + resetMs;
        if (untilMs > (refused.get(subject)?.untilMs ?? 0)) refused.set(subject, { policy, untilMs });
      }
    },
    findRefusal(client, reply) {
      const found = refused.get(subjectOf(client));
      const resetMs = (found?.untilMs ?? 0) - now();
      if (found === undefined || resetMs <= 0) return undefined;
      setRateLimitHeaders(reply, found.policy, { remaining: 0, resetMs });
      return rateLimited(found.policy, { resetMs });
    },
  };
}
