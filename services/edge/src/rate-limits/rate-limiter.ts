import { type CountedBucket, countedBuckets } from "../http/index.ts";

/**
 * Allows `limit` requests per subject (an address bucket or a user) in any window of `windowMs`, and a multiple of it to each of the subject's
 * larger networks (countedBuckets).
 */
export type Policy = { name: string; limit: number; windowMs: number };

export type Decision = {
  /** The bucket that has used up its limit: the subject or one of its networks. Undefined if the request is allowed. */
  refusedBucket: string | undefined;
  /** How many more requests would be allowed now. */
  remaining: number;
  /** Milliseconds until no counted request is left in the window or, after a refusal, until the next request is allowed. */
  resetMs: number;
};

/** A bucket, with its window if that is not the policy's. */
export type LimitedBucket = CountedBucket & { windowMs?: number };

/** The buckets in which a request counts. */
export type CountedRequest = {
  /** What the buckets belong to. In a Redis Cluster, the buckets of one scope are on one server. */
  scope?: string | undefined;
  buckets: readonly LimitedBucket[];
  /** With Redis, requests with the same id count once in a bucket. Without an id, each request counts. */
  id?: string;
};

export type RateLimiter = {
  /** Counts a request of `subject` against a policy, in all its buckets. Refused requests do not count. */
  take(policy: Policy, subject: string | CountedRequest): Promise<Decision>;
};

/** Returns the buckets of a request: those of an address or a user, or the ones that it has itself. */
export function toCountedRequest(subject: string | CountedRequest): CountedRequest {
  if (typeof subject !== "string") return subject;
  const buckets = countedBuckets(subject);
  return { scope: buckets.length === 1 ? undefined : buckets.at(-1)?.bucket, buckets };
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

export const POLICIES = {
  /** Chat, its stop and its challenge, a visitor's history, and a visitor's conversation with people. */
  chat: { name: "chat", limit: 60, windowMs: MINUTE_MS },
  /** Chat and playground with Last-Event-ID. */
  resume: { name: "resume", limit: 120, windowMs: MINUTE_MS },
  rating: { name: "rating", limit: 60, windowMs: MINUTE_MS },
  /** Playground and its stop. */
  playground: { name: "playground", limit: 120, windowMs: MINUTE_MS },
  /** The transcript of one session. */
  export: { name: "export", limit: 30, windowMs: MINUTE_MS },
  /** Listing, deleting and erasing sessions. */
  conversations: { name: "conversations", limit: 120, windowMs: MINUTE_MS },
  /** What people who answer visitors do. A help desk may answer for all of them with one token. */
  handoffs: { name: "handoffs", limit: 600, windowMs: MINUTE_MS },
  /** The export of many sessions. */
  exports: { name: "exports", limit: 10, windowMs: MINUTE_MS },
  /** /api/doctor/. `parley doctor` sends three requests. The setting EDGE_DOCTOR_REQUESTS changes the limit. */
  doctor: { name: "doctor", limit: 20, windowMs: MINUTE_MS },
  /**
   * Unpaid replies (see isUnpaid in turns/) of a workspace's bots to one client. The limit of a day is below the smallest default bound of a
   * workspace, 50 a day, so that one client cannot reach that bound alone.
   */
  unpaidHour: { name: "unpaid", limit: 20, windowMs: HOUR_MS },
  unpaidDay: { name: "unpaid-day", limit: 30, windowMs: 24 * HOUR_MS },
  /** The messages for the team of one visitor of a bot (countVisitorMessage), so that a visitor cannot reach the workspace's bound alone. */
  contact: { name: "contact", limit: 50, windowMs: 24 * HOUR_MS },
  malformed: { name: "malformed", limit: 300, windowMs: MINUTE_MS },
} as const satisfies Record<string, Policy>;
