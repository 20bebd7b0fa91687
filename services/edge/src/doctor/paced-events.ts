import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { STREAM_HEADERS } from "../streams/index.ts";
import { EVENT_COUNT, INTERVAL_MS } from "./doctor-request.ts";
import type { ObservedRequest } from "./observed-request.ts";

export type PacedEventsOptions = {
  observed: ObservedRequest;
  /** `accepted`, or why the request's visitor token is refused; undefined if it has none. */
  visitorToken: string | undefined;
  silenceMs: number;
  headers: OutgoingHttpHeaders | Record<string, string | number | string[] | undefined>;
  /** Aborted when the client is gone or this process must end its streams. */
  signal: AbortSignal;
  monotonicMs: () => number;
};

/**
 * Streams small events at a fixed pace, like a model's tokens, then sends nothing (not even heartbeats) for `silenceMs`, then `done`. If
 * aborted while the client is connected, sends `done` immediately, with finish_reason `error`.
 */
export async function streamPacedEvents(raw: ServerResponse, options: PacedEventsOptions): Promise<void> {
  const { observed, visitorToken, silenceMs, signal, monotonicMs } = options;
  const write = (event: string, data: object) => raw.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  const startedAt = monotonicMs();
  const elapsedMs = () => Math.round(monotonicMs() - startedAt);

  raw.writeHead(200, { ...options.headers, ...STREAM_HEADERS });
  raw.flushHeaders();
  raw.socket?.setNoDelay(true);
  const server_time = new Date().toISOString();
  write("meta", {
    ...observed,
    ...{ server_time, events: EVENT_COUNT, interval_ms: INTERVAL_MS, silence_ms: silenceMs },
    ...(visitorToken !== undefined && { visitor_token: visitorToken }),
  });
  let finishReason = "stop";
  try {
    for (let number = 1; number <= EVENT_COUNT; number++) {
      await sleep(INTERVAL_MS, undefined, { signal });
      write("tick", { number, sent_ms: elapsedMs() });
    }
    if (silenceMs > 0) await sleep(silenceMs, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
    finishReason = "error";
  }
  if (raw.destroyed) return;
  write("done", { finish_reason: finishReason, sent_ms: elapsedMs() });
  raw.end();
}
