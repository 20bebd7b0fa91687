import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyBaseLogger } from "fastify";
import { HttpError, overloadedError } from "../http/index.ts";
import type { Stopwatch, TurnReport } from "../turns/index.ts";
import { OpenStreamCounts, type StreamLimits } from "./open-stream-counts.ts";
import { resetConnection } from "./sse-sink.ts";
import type { StreamMetrics } from "./stream.metrics.ts";

/** One open stream; it occupies a slot of this process. */
export type StreamHandle = {
  /** Aborted by `cancel`, or when the connection closes before the response is complete. */
  cancelSignal: AbortSignal;
  /** Aborted together with `cancelSignal`, or when this process must end its streams. */
  endSignal: AbortSignal;
  /** Ends the reply as if the visitor had left. The connection stays open for the last events. */
  cancel(): void;
  /** Marks a stream whose reply comes from another edge: its connection is reset when this edge starts to drain. */
  markForwarded(): void;
  /** Ends the caller's use of the slot, which is freed once the response is closed too. Call it when no turn will write to the stream any more. */
  release(): void;
};

/** Counts, limits and reports the open streams of this process, and ends them when it stops. */
export type StreamRegistry = {
  /**
   * Opens a stream for a response. `clientBucket` identifies the client. Throws 503 if a limit is reached or while the process ends its streams,
   * and 499 if the client has left.
   * @param isLive whether a visitor can keep the stream open without messages. Such streams may take only half of the places of each limit, so that
   * they leave places to replies.
   */
  open(raw: ServerResponse, clientBucket: string, options?: { isLive: boolean }): StreamHandle;
  /** Logs a finished turn and updates the metrics. */
  reportTurn(report: TurnReport, stopwatch: Stopwatch, log: FastifyBaseLogger): void;
  /** Resets the connections of forwarded streams (their text comes from another edge), so that their clients reconnect elsewhere. */
  resetForwardedStreams(): void;
  /**
   * Waits at most `graceMs` for the open streams and the replies without a reader. Then ends the open streams, calls `onEnding` to end
   * those replies, and waits at most `endMs` until all streams and replies have ended.
   */
  drain(graceMs: number, endMs: number, onEnding: () => void): Promise<void>;
};

type OpenStream = {
  raw: ServerResponse;
  /** The last time at which no data was waiting for the client. */
  lastProgressMs: number;
  /** A controller of its own, because with AbortSignal.any() listeners would leak until the next full garbage collection. */
  endController: AbortController;
  isForwarded: boolean;
};

/** A client is disconnected if data has been waiting for it for this long. */
const STALL_TIMEOUT_MS = 30_000;
const STALL_CHECK_INTERVAL_MS = 1_000;
/** While the process ends its streams: a client that has not received everything this long after release() is disconnected. */
const SHUTDOWN_STALL_TIMEOUT_MS = 1_000;
/** The phases before the first token that are Parley's overhead: all but `queue`, `provider` and `tools`. See docs/operations/explain.md. */
const OWN_PHASES = ["token", "limits", "key", "open", "retrieval", "reserve", "own"];

/** @param now a monotonic clock in milliseconds. */
export function createStreamRegistry(limits: StreamLimits, metrics: StreamMetrics, now: () => number): StreamRegistry {
  const counts = new OpenStreamCounts(limits);
  const liveCounts = new OpenStreamCounts({
    maxOpen: Math.ceil(limits.maxOpen / 2),
    maxOpenPerClient: Math.ceil(limits.maxOpenPerClient / 2),
  });
  const streams = new Set<OpenStream>();
  let isEnding = false;
  let onEmpty: (() => void) | undefined;

  function ensureMayOpen(clientBucket: string, isLive: boolean): void {
    const liveLimit = isLive ? liveCounts.findFullLimit(clientBucket) : undefined;
    const reason = isEnding ? "draining" : (counts.findFullLimit(clientBucket) ?? liveLimit);
    if (reason === undefined) return;
    metrics.refused.inc({ reason });
    if (reason === "draining")
      throw new HttpError(503, "unavailable", { "retry-after": "1", connection: "close" }, { reason });
    throw overloadedError(reason);
  }

  // A socket timeout does not detect a stalled client: incoming bytes restart it, and a client can send without reading.
  setInterval(() => {
    const nowMs = now();
    let bufferedBytes = 0;
    for (const stream of streams) {
      const { raw } = stream;
      bufferedBytes += raw.writableLength;
      // A response without a socket waits for an earlier response on its connection (HTTP pipelining).
      if (raw.writableLength === 0 || raw.socket === null) stream.lastProgressMs = nowMs;
      else if (nowMs - stream.lastProgressMs >= STALL_TIMEOUT_MS) {
        metrics.stalled.inc();
        resetConnection(raw);
      }
    }
    metrics.buffered.set(bufferedBytes);
  }, STALL_CHECK_INTERVAL_MS).unref();

  function acquireSlot(clientBucket: string, isLive: boolean): void {
    counts.add(clientBucket);
    if (isLive) liveCounts.add(clientBucket);
    metrics.open.set(counts.total);
  }

  function releaseSlot(clientBucket: string, isLive: boolean): void {
    counts.remove(clientBucket);
    if (isLive) liveCounts.remove(clientBucket);
    metrics.open.set(counts.total);
    if (counts.total === 0) onEmpty?.();
  }

  return {
    open(raw, clientBucket, { isLive } = { isLive: false }) {
      ensureMayOpen(clientBucket, isLive);
      const cancelController = new AbortController();
      // If the client left while the route resolved the public key, no further close event follows.
      if (raw.destroyed) throw new HttpError(499, "client_gone");
      acquireSlot(clientBucket, isLive);
      const endController = new AbortController();
      const stream = { raw, lastProgressMs: now(), endController, isForwarded: false };
      streams.add(stream);
      raw.on("drain", () => {
        stream.lastProgressMs = now();
      });
      // Two uses keep the slot occupied: the caller's and the response's.
      let remainingUses = 2;
      const releaseUse = () => {
        if (--remainingUses === 0) releaseSlot(clientBucket, isLive);
      };
      const cancel = () => {
        cancelController.abort();
        endController.abort();
      };
      // Not the close event of request.raw, which is emitted as soon as the body is read (fastify#4690).
      raw.once("close", () => {
        streams.delete(stream);
        if (!raw.writableFinished) cancel();
        releaseUse();
      });
      return {
        cancelSignal: cancelController.signal,
        endSignal: endController.signal,
        cancel,
        markForwarded() {
          stream.isForwarded = true;
        },
        release() {
          releaseUse();
          if (isEnding) setTimeout(() => raw.destroy(), SHUTDOWN_STALL_TIMEOUT_MS).unref();
        },
      };
    },
    reportTurn(report, stopwatch, log) {
      const { turnId, workspaceId, errorCode, firstTokenMs, done, cause } = report;
      metrics.turns.inc({ finish: done.finish_reason, code: errorCode });
      const phases = Object.fromEntries(stopwatch.phases.map((phase) => [phase.name, phase.microseconds / 1_000]));
      if (firstTokenMs > 0) {
        metrics.firstToken.observe(firstTokenMs / 1_000);
        const overheadMs = OWN_PHASES.reduce((sum, name) => sum + (phases[name] ?? 0), 0);
        metrics.overhead.observe(overheadMs / 1_000);
      }
      metrics.duration.observe(done.latency_ms / 1_000);
      const line = {
        turn_id: turnId,
        workspace_id: workspaceId,
        ...done,
        first_token_ms: firstTokenMs,
        phases_ms: phases,
      };
      if (done.finish_reason === "error") log.warn({ ...line, code: errorCode, error: cause }, "turn failed");
      else log.info(line, "turn closed");
    },
    resetForwardedStreams() {
      for (const { raw, isForwarded } of streams) if (isForwarded) resetConnection(raw);
    },
    async drain(graceMs, endMs, onEnding) {
      const empty = new Promise<void>((resolve) => {
        onEmpty = resolve;
      });
      if (counts.total > 0) await Promise.race([empty, sleep(Math.max(0, graceMs), undefined, { ref: false })]);
      isEnding = true;
      for (const { endController } of streams) endController.abort();
      onEnding();
      await Promise.race([empty, sleep(counts.total === 0 ? 0 : endMs, undefined, { ref: false })]);
    },
  };
}
