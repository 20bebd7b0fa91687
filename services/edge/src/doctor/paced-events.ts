import type { OutgoingHttpHeaders, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { STREAM_HEADERS } from "../streams/index.ts";
import type { Seen } from "./seen.ts";

const EVENTS = 20;
const INTERVAL_MS = 100;

export type PacedEvents = {
  seen: Seen;
  silenceMs: number;
  headers: OutgoingHttpHeaders | Record<string, string | number | string[] | undefined>;
  /** Aborted when nobody reads any more, or when this process stops. */
  signal: AbortSignal;
  monotonicMs: () => number;
};

/**
 * Streams small events at a known pace, as a model's tokens come, then keeps silent, heartbeats and all, then ends. Told to stop it says
 * so in its `done`, as every stream does.
 */
export async function streamPacedEvents(raw: ServerResponse, options: PacedEvents): Promise<void> {
  const { seen, silenceMs, signal, monotonicMs } = options;
  const write = (event: string, data: object) => raw.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  const startedAt = monotonicMs();
  const sentMs = () => Math.round(monotonicMs() - startedAt);

  raw.writeHead(200, { ...options.headers, ...STREAM_HEADERS });
  raw.flushHeaders();
  raw.socket?.setNoDelay(true);
  const server_time = new Date().toISOString();
  write("meta", { ...seen, server_time, events: EVENTS, interval_ms: INTERVAL_MS, silence_ms: silenceMs });
  let finishReason = "stop";
  try {
    for (let number = 1; number <= EVENTS; number++) {
      await sleep(INTERVAL_MS, undefined, { signal });
      write("tick", { number, sent_ms: sentMs() });
    }
    if (silenceMs > 0) await sleep(silenceMs, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
    finishReason = "error";
  }
  if (raw.destroyed) return;
  write("done", { finish_reason: finishReason, sent_ms: sentMs() });
  raw.end();
}
