/** What a bucket allows: `limit` requests in any window of `windowMs`. */
export type Policy = { name: string; limit: number; windowMs: number };

export type Decision = {
  allowed: boolean;
  /** How many more would be allowed now. */
  remaining: number;
  /** When the next one is allowed, or when the whole limit is free again if one is allowed now; milliseconds from now. */
  resetMs: number;
};

/** Counts a request of `subject` against a policy. A refused request counts nothing. */
export type RateLimiter = {
  take(policy: Policy, subject: string): Promise<Decision>;
};

const MINUTE_MS = 60_000;

export const POLICIES = {
  chat: { name: "chat", limit: 60, windowMs: MINUTE_MS },
  rating: { name: "rating", limit: 60, windowMs: MINUTE_MS },
  playground: { name: "playground", limit: 120, windowMs: MINUTE_MS },
  export: { name: "export", limit: 30, windowMs: MINUTE_MS },
  malformed: { name: "malformed", limit: 300, windowMs: MINUTE_MS },
} as const satisfies Record<string, Policy>;
