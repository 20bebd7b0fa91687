/** Configuration of chat-load-generator.ts, passed as JSON on its command line. */
export type LoadOptions = {
  url: string;
  /** Request body. In the body and the headers, each `$uuid` is replaced with a new UUID. */
  body: string;
  headers: Record<string, string>;
  /** Number of concurrent callers. Each sends one request at a time. */
  callers: number;
  /** Number of measured turns, in total over all callers. */
  turns: number;
  /** Number of turns before the measurement, in total over all callers. */
  warmUpTurns: number;
  /** Time over which the callers' starts are spread. */
  rampMs?: number;
  /** Sends an X-Forwarded-For header with a new address in each request. */
  usesNewClientAddressPerRequest: boolean;
};

/** Result that chat-load-generator.ts prints as JSON. */
export type LoadResult = {
  /** Number of measured turns, including failed ones. */
  turns: number;
  failed: number;
  /** Number of `token` events. Parley may coalesce several tokens of the provider into one event. */
  tokens: number;
  elapsedMs: number;
  firstTokenMs: { p50: number; p99: number };
  /** Time between consecutive response chunks that contain tokens. */
  tokenGapMs: { p50: number; p99: number };
};
