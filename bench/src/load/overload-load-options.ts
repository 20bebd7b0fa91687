/** Configuration of overload-load-generator.ts, passed as JSON on its command line. */
export type OverloadOptions = {
  url: string;
  /** Request body. `$uuid` is replaced with a new UUID in each request. */
  body: string;
  headers: Record<string, string>;
  /** Chats sent per second during the overload. */
  overloadRate: number;
  /** Duration of the overload. */
  overloadMs: number;
  /** Chats sent per second after the overload. */
  normalRate: number;
  /** How long chats are sent after the overload. */
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
  /**
   * The number of failures by cause. If the request failed, the cause is the error's code or message, such as `ECONNRESET` or `timeout`. If the
   * response failed after its headers, the cause is `after the headers: ` and the error. If the response ended
   * but was not a complete reply, the cause is its status and error code.
   */
  failures: Record<string, number>;
  /**
   * Seconds from the end of the overload until the last refused or failed chat ended. Considers only the chats that were sent after the overload:
   * 0 if they were all completed.
   */
  secondsUntilRecovered: number;
};
