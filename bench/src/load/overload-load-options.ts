/** Configuration of the overload's generator, passed as JSON on its command line. */
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

/** Result that the generator prints as JSON. The counts are those of the overload. */
export type OverloadResult = {
  sent: number;
  /** Chats whose reply was complete. */
  completed: number;
  /** Chats that got 503 with Retry-After. */
  refused: number;
  failed: number;
  /** Counts of the failures by their cause: an error code of Node, or the status and code of the response. Includes those after the overload. */
  failures: Record<string, number>;
  /** From the end of the overload to the last later chat without a complete reply; 0 if each later one had a reply. */
  secondsUntilRecovered: number;
};
