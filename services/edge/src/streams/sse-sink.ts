import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { TurnSink } from "../turns/index.ts";

export type SseOptions = {
  /** Takes the response over and gives the headers that are due with the stream's status line. */
  open: () => OutgoingHttpHeaders | Record<string, string | number | string[] | undefined>;
  /** A comment is sent after this much silence, so that no proxy takes the stream for dead. */
  heartbeatMs: number;
  /** Once it is aborted nobody waits for a slow reader any more. */
  hurry: AbortSignal;
};

/** Of every stream of ours. */
export const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  // no-transform: a proxy that compresses would hold events back. nginx buffers unless told not to.
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/**
 * Writes a turn's events as Server-Sent Events. Nothing is sent before `meta`. A token waits while the reader is slow, so what is
 * buffered stays within the socket's own high-water mark and one token.
 */
export function createSseSink(raw: ServerResponse, options: SseOptions): TurnSink {
  let heartbeat: NodeJS.Timeout | undefined;

  function write(event: string, data: object): boolean {
    if (raw.destroyed || raw.writableEnded) return true;
    heartbeat?.refresh();
    return raw.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  return {
    meta(meta) {
      // The headers leave with the first event, in one packet.
      raw.writeHead(200, { ...options.open(), ...STREAM_HEADERS });
      raw.socket?.setNoDelay(true);
      heartbeat = setInterval(() => raw.writableNeedDrain || raw.write(": still here\n\n"), options.heartbeatMs);
      raw.once("close", () => clearInterval(heartbeat));
      write("meta", meta);
    },
    token: (text) => (write("token", { text }) ? undefined : drained(raw, options.hurry)),
    blocked: (blocked) => void write("blocked", blocked),
    error: (failure) => void write("error", failure),
    done(done) {
      write("done", done);
      clearInterval(heartbeat);
      raw.end();
    },
  };
}

/** Resolves when the reader has taken what was written, or is gone, or there is no more time for it. */
function drained(raw: ServerResponse, hurry: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      raw.off("drain", finish);
      raw.off("close", finish);
      hurry.removeEventListener("abort", finish);
      resolve();
    };
    if (hurry.aborted) return resolve();
    raw.once("drain", finish);
    raw.once("close", finish);
    hurry.addEventListener("abort", finish);
  });
}
