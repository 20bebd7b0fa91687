import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyBaseLogger } from "fastify";
import { HttpError } from "../http/index.ts";
import type { Stopwatch, TurnReport } from "../turns/index.ts";
import type { StreamMetrics } from "./stream.metrics.ts";

export type StreamCaps = {
  /** Maximum number of streams open in this process. */
  process: number;
  /** Maximum number of streams open from one client address. */
  client: number;
};

/** One open stream; it occupies a slot of this process. */
export type Stream = {
  /** Aborted when the connection closes before the response is complete. */
  clientGone: AbortSignal;
  /** Aborted when the connection closes or this process must end its streams. */
  mustEnd: AbortSignal;
  /** Call when nothing more will be written. The slot is freed once the client has received everything or is gone. */
  close(): void;
};

/** Counts, limits and reports the open streams of this process, and ends them when it stops. */
export type Streams = {
  /** Opens a stream for a response, counted for a client's bucket. Throws 503 at a cap or while the process drains. */
  open(raw: ServerResponse, clientBucket: string): Stream;
  /** Logs a finished turn and updates the metrics. */
  report(report: TurnReport, watch: Stopwatch, log: FastifyBaseLogger): void;
  /** Refuses new streams and waits for the open ones. After `graceMs` ends the rest and waits at most `endMs` for them. */
  drain(graceMs: number, endMs: number): Promise<void>;
};

type OpenStream = {
  raw: ServerResponse;
  /** When the client was last seen to receive data. */
  lastProgressMs: number;
  /** A controller instead of AbortSignal.any(): listeners of a composed signal leak until the next full garbage collection. */
  mustEnd: AbortController;
};

/** A client that receives nothing for this long is disconnected. */
const STALL_TIMEOUT_MS = 30_000;
const STALL_CHECK_INTERVAL_MS = 1_000;
/** While the process ends its streams: a client that has not received everything this long after close() is disconnected. */
const SHUTDOWN_STALL_TIMEOUT_MS = 1_000;
const RETRY_AFTER_SECONDS = "5";
/** The phases before the first token in which Parley itself spends the time: all but `queue`, `provider` and `tools`. */
const OWN_PHASES = ["token", "limits", "key", "open", "retrieval", "reserve", "own"];

/** @param now a monotonic clock in milliseconds. */
export function createStreams(caps: StreamCaps, metrics: StreamMetrics, now: () => number): Streams {
  const countByClient = new Map<string, number>();
  const streams = new Set<OpenStream>();
  let openCount = 0;
  let isDraining = false;
  let isEnding = false;
  let onEmpty: (() => void) | undefined;

  function refuseIfFull(clientBucket: string): void {
    const clientCount = countByClient.get(clientBucket) ?? 0;
    const isFull = openCount >= caps.process;
    const reason = isDraining ? "draining" : isFull ? "process" : clientCount >= caps.client ? "client" : undefined;
    if (reason === undefined) return;
    metrics.refused.inc({ reason });
    if (reason === "draining") throw new HttpError(503, "unavailable", { "retry-after": "1", connection: "close" });
    throw new HttpError(503, "overloaded", { "retry-after": RETRY_AFTER_SECONDS });
  }

  // A socket timeout does not detect a stalled client: incoming bytes restart it, and a client can send without reading.
  setInterval(() => {
    const at = now();
    let bufferedBytes = 0;
    for (const stream of streams) {
      const { raw } = stream;
      bufferedBytes += raw.writableLength;
      if (raw.writableLength === 0) stream.lastProgressMs = at;
      else if (at - stream.lastProgressMs >= STALL_TIMEOUT_MS) {
        metrics.stalled.inc();
        // A reset also drops the data in the kernel's send buffer.
        raw.socket?.resetAndDestroy();
      }
    }
    metrics.buffered.set(bufferedBytes);
  }, STALL_CHECK_INTERVAL_MS).unref();

  function acquireSlot(clientBucket: string): void {
    metrics.open.set(++openCount);
    countByClient.set(clientBucket, (countByClient.get(clientBucket) ?? 0) + 1);
  }

  function releaseSlot(clientBucket: string): void {
    metrics.open.set(--openCount);
    const count = (countByClient.get(clientBucket) ?? 1) - 1;
    if (count === 0) countByClient.delete(clientBucket);
    else countByClient.set(clientBucket, count);
    if (openCount === 0) onEmpty?.();
  }

  return {
    open(raw, clientBucket) {
      refuseIfFull(clientBucket);
      const clientGone = new AbortController();
      // If the client left during the key lookup, no further close event follows.
      if (raw.destroyed) throw new HttpError(499, "client_gone");
      acquireSlot(clientBucket);
      const mustEnd = new AbortController();
      const stream = { raw, lastProgressMs: now(), mustEnd };
      streams.add(stream);
      raw.on("drain", () => {
        stream.lastProgressMs = now();
      });
      // The slot is in use until both the caller and the response have closed.
      let users = 2;
      const release = () => {
        if (--users === 0) releaseSlot(clientBucket);
      };
      // request.raw emits close as soon as the body is read (fastify#4690). The response emits it when the connection closes.
      raw.once("close", () => {
        streams.delete(stream);
        if (!raw.writableFinished) {
          clientGone.abort();
          mustEnd.abort();
        }
        release();
      });
      return {
        clientGone: clientGone.signal,
        mustEnd: mustEnd.signal,
        close() {
          release();
          if (isEnding) setTimeout(() => raw.destroy(), SHUTDOWN_STALL_TIMEOUT_MS).unref();
        },
      };
    },
    report(report, watch, log) {
      const { turnId, workspaceId, finish, errorCode, firstTokenMs, done, cause } = report;
      metrics.turns.inc({ finish, code: errorCode });
      const phases = Object.fromEntries(watch.phases.map((phase) => [phase.name, phase.microseconds / 1_000]));
      if (firstTokenMs > 0) {
        metrics.firstToken.observe(firstTokenMs / 1_000);
        const overheadMs = OWN_PHASES.reduce((sum, name) => sum + (phases[name] ?? 0), 0);
        metrics.overhead.observe(overheadMs / 1_000);
      }
      metrics.duration.observe(done.latency_ms / 1_000);
      const line = {
        turn_id: turnId,
        workspace_id: workspaceId,
        finish,
        ...done,
        first_token_ms: firstTokenMs,
        phases_ms: phases,
      };
      if (finish === "error") log.warn({ ...line, code: errorCode, error: cause }, "turn failed");
      else log.info(line, "turn closed");
    },
    async drain(graceMs, endMs) {
      isDraining = true;
      if (openCount === 0) return;
      const empty = new Promise<void>((resolve) => {
        onEmpty = resolve;
      });
      await Promise.race([empty, sleep(graceMs, undefined, { ref: false })]);
      isEnding = true;
      for (const { mustEnd } of streams) mustEnd.abort();
      await Promise.race([empty, sleep(openCount === 0 ? 0 : endMs, undefined, { ref: false })]);
    },
  };
}
