/** What the load generator is told, as JSON on its command line. */
export type LoadPlan = {
  url: string;
  /** Bodies sent in turn; `$uuid` in them is replaced by a fresh UUID each time. */
  body: string;
  headers: Record<string, string>;
  /** Callers at once, each with one request at a time. */
  callers: number;
  /** Turns in all. */
  turns: number;
  /** Turns at the start that are not counted. */
  warmUp: number;
  /** The callers start one after the other within this time. */
  rampMs?: number;
  /** Pretends that each caller has an address of its own, by X-Forwarded-For. */
  spreadAddresses: boolean;
};

/** What it answers, as JSON on its standard output. Times in milliseconds. */
export type LoadResult = {
  turns: number;
  failed: number;
  tokens: number;
  elapsedMs: number;
  firstTokenMs: { p50: number; p99: number };
  gapMs: { p50: number; p99: number };
};
