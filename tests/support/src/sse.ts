export interface SseEvent {
  /** Absent if the event has no `id:` line. */
  id?: string;
  event: string;
  /** Parsed JSON. */
  data: unknown;
  /** When the chunk that ends the event arrived, in milliseconds of performance.now(). */
  receivedAtMs: number;
}

export interface SseComment {
  comment: string;
  /** As in SseEvent. */
  receivedAtMs: number;
}

export interface ReadSseOptions {
  /** When the signal aborts, readSse closes the connection and throws the signal's reason. */
  signal?: AbortSignal;
}

/**
 * Yields the events and comments of a response as they arrive. Leaving the loop closes the connection.
 *
 * Stricter than browsers. Throws in these cases:
 * - an event is not exactly an optional `id:` line, an `event:` line, a `data:` line with JSON and an empty line;
 * - a line ends with CR or CRLF;
 * - the stream ends inside an event.
 */
export async function* readSse(
  response: Response,
  { signal }: ReadSseOptions = {},
): AsyncGenerator<SseEvent | SseComment, void, undefined> {
  const type = response.headers.get("content-type") ?? "";
  if (!/^text\/event-stream\b/.test(type)) throw new Error(`not an event stream: ${response.status} "${type}"`);
  if (!response.body) throw new Error("the response has no body");
  const reader = response.body.getReader();
  const cancel = () => void reader.cancel().catch(() => undefined);
  if (signal?.aborted) cancel();
  signal?.addEventListener("abort", cancel, { once: true });
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let buffer = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      signal?.throwIfAborted();
      buffer += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const blocks = buffer.split("\n\n");
      buffer = blocks.pop() ?? "";
      const receivedAtMs = performance.now();
      for (const block of blocks) yield { ...parseBlock(block), receivedAtMs };
      if (done) break;
    }
    if (buffer !== "") throw new Error(`the stream was cut off in ${JSON.stringify(buffer.slice(0, 200))}`);
  } finally {
    signal?.removeEventListener("abort", cancel);
    cancel();
  }
}

/** Reads a stream to its end and returns its events without the comments. */
export async function collectSse(response: Response, options?: ReadSseOptions): Promise<SseEvent[]> {
  const events: SseEvent[] = [];
  for await (const item of readSse(response, options)) if ("event" in item) events.push(item);
  return events;
}

function parseBlock(block: string): { id?: string; event: string; data: unknown } | { comment: string } {
  if (block.includes("\r")) throw new Error(`a carriage return in ${JSON.stringify(block)}`);
  const lines = block.split("\n");
  const id = /^id: (\S+)$/.exec(lines[0] ?? "")?.[1];
  if (id !== undefined) lines.shift();
  if (lines.length === 1 && block.startsWith(":")) return { comment: block.slice(1).trimStart() };
  const [eventLine, dataLine] = [/^event: (\S+)$/.exec(lines[0] ?? ""), /^data: (.+)$/s.exec(lines[1] ?? "")];
  if (lines.length !== 2 || !eventLine?.[1] || !dataLine?.[1])
    throw new Error(`not an event: ${JSON.stringify(block)}`);
  return { ...(id !== undefined && { id }), event: eventLine[1], data: JSON.parse(dataLine[1]) };
}

/**
 * Sends a request whose stream stays open until `init.signal` is aborted, also if nothing reads it. Plain fetch cancels an unread stream when its
 * response is garbage-collected.
 */
export async function fetchAndKeep(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init);
  init.signal?.addEventListener("abort", () => void response, { once: true });
  return response;
}
