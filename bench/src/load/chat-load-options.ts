/** Configuration of chat-load-generator.ts, passed as JSON on its command line. */
export type LoadOptions = {
  url: string;
  /** Request body. Each `$uuid` is replaced with its own new UUID, also in headers. */
  body: string;
  headers: Record<string, string>;
  /** Number of concurrent callers. Each sends one request at a time. */
  callers: number;
  /** Number of measured turns of all callers. */
  turns: number;
  /** Number of turns before the measurement. */
  warmUpTurns: number;
  /** Time over which the callers' starts are spread. */
  rampMs?: number;
  /** Sends an X-Forwarded-For header with a new address in each request. */
  usesNewAddressPerRequest: boolean;
};

/** Result that chat-load-generator.ts prints as JSON. */
export type LoadResult = {
  turns: number;
  failed: number;
  tokens: number;
  elapsedMs: number;
  firstTokenMs: { p50: number; p99: number };
  /** Time between two chunks that contain tokens. */
  tokenGapMs: { p50: number; p99: number };
};
