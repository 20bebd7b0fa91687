/** Allows `limit` requests per subject in any window of `windowMs`. */
export type Policy = { name: string; limit: number; windowMs: number };

export type Decision = {
  isAllowed: boolean;
  /** How many more requests would be allowed now. */
  remaining: number;
  /** Milliseconds until no counted request is left in the window or, after a refusal, until the next request is allowed. */
  resetMs: number;
};

/** Counts a request of `subject` against a policy. Refused requests do not count. */
export type RateLimiter = {
  take(policy: Policy, subject: string): Promise<Decision>;
};

const MINUTE_MS = 60_000;

export const POLICIES = {
  chat: { name: "chat", limit: 60, windowMs: MINUTE_MS },
  resume: { name: "resume", limit: 120, windowMs: MINUTE_MS },
  rating: { name: "rating", limit: 60, windowMs: MINUTE_MS },
  playground: { name: "playground", limit: 120, windowMs: MINUTE_MS },
  export: { name: "export", limit: 30, windowMs: MINUTE_MS },
  conversations: { name: "conversations", limit: 120, windowMs: MINUTE_MS },
  exports: { name: "exports", limit: 10, windowMs: MINUTE_MS },
  malformed: { name: "malformed", limit: 300, windowMs: MINUTE_MS },
} as const satisfies Record<string, Policy>;
