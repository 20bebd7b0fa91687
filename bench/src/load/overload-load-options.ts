/** Configuration of overload-load-generator.ts, passed as JSON on its command line. */
export type OverloadOptions = {
  url: string;
  /** Request body. `$uuid` is replaced with a new UUID in each request. */
  body: string;
  headers: Record<string, string>;
  /** Chats sent per second during the overload. */
  overloadRate: number;
  overloadMs: number;
  /** Chats sent per second after the overload. */
  normalRate: number;
  normalMs: number;
};

/**
 * Result that overload-load-generator.ts prints as JSON. `sent`, `completed`, `refused` and `failed` count the chats sent during the overload.
 * `failures` also counts the failed chats sent after the overload.
 */
export type OverloadResult = {
  sent: number;
  completed: number;
  /** Chats that got 503 with Retry-After. */
  refused: number;
  failed: number;
  /**
   * The number of failures by cause:
   * - the code or message of the request's error, such as `ECONNRESET` or `timeout`,
   * - `after the headers: ` and the error, if the response failed after its headers,
   * - the status and error code of a response that ended without a complete reply.
   */
  failures: Record<string, number>;
  /**
   * Seconds from the end of the overload until the last refused or failed chat ended, among the chats sent after the overload. 0 if all of
   * these were completed.
   */
  secondsUntilRecovered: number;
};
