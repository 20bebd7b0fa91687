import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { TurnSink } from "../turns/index.ts";

export type SseOptions = {
  /** Takes the response over from Fastify and returns the headers to send with the status line. */
  open: () => OutgoingHttpHeaders | Record<string, string | number | string[] | undefined>;
  /** Interval of comments during silence. They keep proxies from closing the stream as idle. */
  heartbeatMs: number;
  /** Once aborted, writes no longer wait for a slow client. */
  mustEnd: AbortSignal;
};

/** Headers of every SSE response. */
export const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  // no-transform: a proxy that compresses would delay events. x-accel-buffering: nginx buffers by default.
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/**
 * Writes a turn's events as Server-Sent Events. Sends nothing before `meta`. Backpressure: `token` waits while the client is slow, so the
 * buffer holds at most the socket's high-water mark and one token.
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
      // Node sends the headers and the first event in one packet.
      raw.writeHead(200, { ...options.open(), ...STREAM_HEADERS });
      raw.socket?.setNoDelay(true);
      heartbeat = setInterval(() => raw.writableNeedDrain || raw.write(": still here\n\n"), options.heartbeatMs);
      raw.once("close", () => clearInterval(heartbeat));
      write("meta", meta);
    },
    token: (text) => (write("token", { text }) ? undefined : waitForDrain(raw, options.mustEnd)),
    blocked: (blocked) => void write("blocked", blocked),
    error: (failure) => void write("error", failure),
    done(done) {
      write("done", done);
      clearInterval(heartbeat);
      raw.end();
    },
  };
}

/** Resolves when the buffer has drained, the connection has closed or the stream must end. */
function waitForDrain(raw: ServerResponse, mustEnd: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      raw.off("drain", finish);
      raw.off("close", finish);
      mustEnd.removeEventListener("abort", finish);
      resolve();
    };
    if (mustEnd.aborted) return resolve();
    raw.once("drain", finish);
    raw.once("close", finish);
    mustEnd.addEventListener("abort", finish);
  });
}
