import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { FastifyBaseLogger } from "fastify";
import { HttpError } from "../http/index.ts";
import type { Stopwatch, TurnReport } from "../turns/index.ts";
import type { StreamMetrics } from "./stream.metrics.ts";

export type StreamCaps = {
  /** Streams open in this process. */
  process: number;
  /** Of them, those of one client's address. */
  client: number;
};

/** A place among the streams of this process. */
export type Stream = {
  /** Aborted when the reader is gone before the end. */
  gone: AbortSignal;
  /** Aborted when the reader is gone, or this process must end its streams. */
  over: AbortSignal;
  /** Nothing more will be written; the place is free once the reader has taken what there was, or is gone. */
  close(): void;
};

/** The long answers of this process: counted, capped, reported, and ended together when it stops. */
export type Streams = {
  /** Takes a place for a response, of a client's bucket. Throws 503 when there is none, or none is given any more. */
  open(raw: ServerResponse, client: string): Stream;
  ended(report: TurnReport, watch: Stopwatch, log: FastifyBaseLogger): void;
  /** Refuses new streams, waits for those open, and has what is left end after `graceMs`; resolves at the latest `lastWordsMs` later. */
  drain(graceMs: number, lastWordsMs: number): Promise<void>;
};

type Reader = {
  raw: ServerResponse;
  /** When it was last seen to have taken something. */
  takenAtMs: number;
  /** Not composed of other signals: what hangs on such a one survives until the next full garbage collection. */
  over: AbortController;
};

/** A reader that takes nothing for this long is cut off. */
const STALL_MS = 30_000;
const LOOK_EVERY_MS = 1_000;
/** The same for the last words of a process that stops. */
const LAST_STALL_MS = 1_000;
const RETRY_AFTER_SECONDS = "5";

/** @param now a monotonic clock in milliseconds. */
export function createStreams(caps: StreamCaps, metrics: StreamMetrics, now: () => number): Streams {
  const clients = new Map<string, number>();
  const readers = new Set<Reader>();
  let open = 0;
  let draining = false;
  let ending = false;
  let drained: (() => void) | undefined;

  function refuseOrGoOn(client: string): void {
    const fromClient = clients.get(client) ?? 0;
    const isFull = open >= caps.process;
    const reason = draining ? "draining" : isFull ? "process" : fromClient >= caps.client ? "client" : undefined;
    if (reason === undefined) return;
    metrics.refused.inc({ reason });
    if (reason === "draining") throw new HttpError(503, "unavailable", { "retry-after": "1", connection: "close" });
    throw new HttpError(503, "overloaded", { "retry-after": RETRY_AFTER_SECONDS });
  }

  // A timeout of the socket would not do: it begins anew with every byte that comes in, and a reader that takes nothing can send.
  setInterval(() => {
    const at = now();
    let bufferedBytes = 0;
    for (const reader of readers) {
      const { raw } = reader;
      bufferedBytes += raw.writableLength;
      if (raw.writableLength === 0) reader.takenAtMs = at;
      else if (at - reader.takenAtMs >= STALL_MS) {
        metrics.stalled.inc();
        // What the system still holds for this reader goes with it.
        raw.socket?.resetAndDestroy();
      }
    }
    metrics.buffered.set(bufferedBytes);
  }, LOOK_EVERY_MS).unref();

  function take(client: string): void {
    metrics.open.set(++open);
    clients.set(client, (clients.get(client) ?? 0) + 1);
  }

  function giveBack(client: string): void {
    metrics.open.set(--open);
    const left = (clients.get(client) ?? 1) - 1;
    if (left === 0) clients.delete(client);
    else clients.set(client, left);
    if (open === 0) drained?.();
  }

  return {
    open(raw, client) {
      refuseOrGoOn(client);
      const gone = new AbortController();
      // Who left while their key was looked up will not say so again.
      if (raw.destroyed) throw new HttpError(499, "client_gone");
      take(client);
      const over = new AbortController();
      const reader = { raw, takenAtMs: now(), over };
      readers.add(reader);
      raw.on("drain", () => {
        reader.takenAtMs = now();
      });
      let unfinished = 2;
      const finish = () => {
        if (--unfinished === 0) giveBack(client);
      };
      // request.raw closes as soon as a body has been read (fastify#4690); the response closes when its reader leaves.
      raw.once("close", () => {
        readers.delete(reader);
        if (!raw.writableFinished) {
          gone.abort();
          over.abort();
        }
        finish();
      });
      return {
        gone: gone.signal,
        over: over.signal,
        close() {
          finish();
          if (ending) setTimeout(() => raw.destroy(), LAST_STALL_MS).unref();
        },
      };
    },
    ended(report, watch, log) {
      const { turnId, workspaceId, finish, errorCode, firstTokenMs, done, cause } = report;
      metrics.turns.inc({ finish, code: errorCode });
      const phases = Object.fromEntries(watch.phases.map((phase) => [phase.name, phase.microseconds / 1_000]));
      if (firstTokenMs > 0) {
        metrics.firstToken.observe(firstTokenMs / 1_000);
        const { queue = 0, provider = 0 } = phases;
        metrics.overhead.observe(Math.max(0, firstTokenMs - queue - provider) / 1_000);
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
      else log.info(line, "turn");
    },
    async drain(graceMs, lastWordsMs) {
      draining = true;
      if (open === 0) return;
      const empty = new Promise<void>((resolve) => {
        drained = resolve;
      });
      await Promise.race([empty, sleep(graceMs, undefined, { ref: false })]);
      ending = true;
      for (const { over } of readers) over.abort();
      await Promise.race([empty, sleep(open === 0 ? 0 : lastWordsMs, undefined, { ref: false })]);
    },
  };
}
