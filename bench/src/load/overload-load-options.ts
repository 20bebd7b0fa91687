/** Configuration of overload-load-generator.ts, passed as JSON on its command line. */
export type OverloadOptions = {
  url: string;
  /** Request body. `$uuid` is replaced with a new UUID in each request. */
  body: string;
  headers: Record<string, string>;
  /** Chats per second during the overload, and its length. */
  overloadRate: number;
  overloadMs: number;
  /** Chats per second after the overload, and how long they are sent. */
  normalRate: number;
  normalMs: number;
};

/**
 * Result that overload-load-generator.ts prints as JSON. `sent`, `completed`, `refused` and `failed` count the chats of the overload.
 * `failures` counts the failed chats of the overload and of the time after it.
 */
export type OverloadResult = {
  sent: number;
  /** Chats whose reply was complete. */
  completed: number;
  /** Chats that got 503 with Retry-After. */
  refused: number;
  failed: number;
  /** The number of failures by cause: an error code of Node, or the status and code of the response. */
  failures: Record<string, number>;
  /** From the end of the overload to the end of the last chat that was sent after it and got no complete reply; 0 if there was none. */
  secondsUntilRecovered: number;
};
