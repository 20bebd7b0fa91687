/** Allows `limit` requests per subject (an address or a user) in any window of `windowMs`. */
export type Policy = { name: string; limit: number; windowMs: number };

export type Decision = {
  isAllowed: boolean;
  /** How many more requests would be allowed now. */
  remaining: number;
  /** Milliseconds until no counted request is left in the window or, after a refusal, until the next request is allowed. */
  resetMs: number;
};

export type RateLimiter = {
  /** Counts a request of `subject` against a policy. Refused requests do not count. */
  take(policy: Policy, subject: string): Promise<Decision>;
};

const MINUTE_MS = 60_000;

export const POLICIES = {
  /** Chat, its stop and /api/doctor/. */
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
  /** The export of many sessions. */
  exports: { name: "exports", limit: 10, windowMs: MINUTE_MS },
  malformed: { name: "malformed", limit: 300, windowMs: MINUTE_MS },
} as const satisfies Record<string, Policy>;
