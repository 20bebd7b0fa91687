import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import {
  createTerminalEvents,
  type MetaEvent,
  type ReplyReader,
  type TerminalEvents,
  type TurnSink,
} from "../turns/index.ts";

export type SseOptions = {
  /** Takes the response over from Fastify and returns the headers to send with the status line. */
  open: () => OutgoingHttpHeaders | Record<string, string | number | string[] | undefined>;
  /** Interval of SSE comments during silence, so that proxies do not close the stream as idle. */
  heartbeatMs: number;
  /** When this signal is aborted, writes stop waiting for a slow client. */
  endSignal: AbortSignal;
};

export const STREAM_HEADERS = {
  "content-type": "text/event-stream; charset=utf-8",
  // no-transform: a proxy that compresses would delay events. x-accel-buffering: nginx buffers by default.
  "cache-control": "no-cache, no-transform",
  "x-accel-buffering": "no",
};

/** Writes Server-Sent Events to a response. */
export class SseWriter {
  readonly #raw: ServerResponse;
  readonly #options: SseOptions;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(raw: ServerResponse, options: SseOptions) {
    this.#raw = raw;
    this.#options = options;
  }

  /** Starts the response. Node sends the headers and the first event in one packet. */
  open(): void {
    const raw = this.#raw;
    raw.writeHead(200, { ...this.#options.open(), ...STREAM_HEADERS });
    raw.socket?.setNoDelay(true);
    this.#heartbeat = setInterval(
      () => raw.writableNeedDrain || raw.write(": still here\n\n"),
      this.#options.heartbeatMs,
    );
    raw.once("close", () => clearInterval(this.#heartbeat));
  }

  /** Writes an event. Returns false while the client is slow. @param id the event's `id:` line, or an empty string. */
  write(event: string, data: object, id = ""): boolean {
    const raw = this.#raw;
    if (raw.destroyed || raw.writableEnded) return true;
    this.#heartbeat?.refresh();
    return raw.write(`${id}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  drained(): Promise<void> {
    return waitForDrain(this.#raw, this.#options.endSignal);
  }

  end(): void {
    clearInterval(this.#heartbeat);
    this.#raw.end();
  }
}

function writeEnd(writer: SseWriter, { blocked, error, sources, handoff, done }: TerminalEvents, id?: string): void {
  if (blocked !== undefined) writer.write("blocked", blocked, id);
  if (error !== undefined) writer.write("error", error, id);
  if (sources !== undefined) writer.write("sources", sources, id);
  if (handoff !== undefined) writer.write("handoff", handoff, id);
  writer.write("done", done, id);
  writer.end();
}

/**
 * Writes a turn's events as Server-Sent Events. Sends nothing before `meta`. Backpressure: `token` waits while the client is slow, so the
 * buffer holds at most the socket's high-water mark and one token.
 */
export function createSseSink(raw: ServerResponse, options: SseOptions): TurnSink {
  const writer = new SseWriter(raw, options);
  return {
    meta(meta) {
      writer.open();
      writer.write("meta", meta);
    },
    token: (text) => (writer.write("token", { text }) ? undefined : writer.drained()),
    end: (ending) => writeEnd(writer, createTerminalEvents(ending)),
  };
}

/**
 * Starts a response whose events have ids, and writes `meta`. The returned object writes the rest of the reply to this response. An id is
 * `<message id>-<offset>`. The offset is the number of UTF-16 code units of the reply that the client has after the event.
 * @param offset where the client continues; 0 for the start.
 */
export function startReplyResponse(
  raw: ServerResponse,
  meta: MetaEvent,
  offset: number,
  options: SseOptions,
): ReplyReader {
  const writer = new SseWriter(raw, options);
  const idPrefix = `id: ${meta.message_id}-`;
  let id = `${idPrefix}${offset}\n`;
  writer.open();
  writer.write("meta", meta, id);
  return {
    token(text, endOffset) {
      id = `${idPrefix}${endOffset}\n`;
      return writer.write("token", { text }, id) ? undefined : writer.drained();
    },
    end: (ending) => writeEnd(writer, createTerminalEvents(ending), id),
    // The client cannot mistake a reset for the end of the stream.
    disconnect: () => resetConnection(raw),
  };
}

/** Resets the connection of a response, and drops the data in the kernel's send buffer. */
export function resetConnection({ req }: ServerResponse): void {
  // If the client pipelines requests, the response's own socket is null until the earlier responses have ended.
  req.socket.resetAndDestroy();
}

/** Also resolves when the connection closes or the stream must end. */
function waitForDrain(raw: ServerResponse, endSignal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const finish = () => {
      raw.off("drain", finish);
      raw.off("close", finish);
      endSignal.removeEventListener("abort", finish);
      resolve();
    };
    if (endSignal.aborted) return resolve();
    raw.once("drain", finish);
    raw.once("close", finish);
    endSignal.addEventListener("abort", finish);
  });
}
