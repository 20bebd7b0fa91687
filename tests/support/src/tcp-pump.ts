import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

export interface DelayFaults {
  isStalled: boolean;
  latencyMs: number;
}

const MAX_QUEUED_BYTES = 1024 * 1024;

export interface PumpOptions {
  /** Returns the faults at the time of the call. */
  faults(): DelayFaults;
  /** Writes a chunk to the receiver. Returns false if the receiver's buffer is full. */
  send(chunk: Buffer): boolean;
}

/** Forwards data and the end of the stream, in order. Delays both by `latencyMs`, and while `isStalled` is true. */
export function forward(from: Socket, to: Socket, { faults, send }: PumpOptions): void {
  let tail = Promise.resolve();
  let queuedBytes = 0;

  function enqueue(step: () => void | Promise<void>): void {
    const dueAt = performance.now() + faults().latencyMs;
    tail = tail.then(async () => {
      // A timer may fire up to 2 ms early.
      while (performance.now() < dueAt) await sleep(Math.ceil(dueAt - performance.now()));
      while (faults().isStalled && !to.destroyed) await sleep(5);
      if (!to.destroyed) await step();
    });
  }

  from.on("data", (chunk: Buffer) => {
    queuedBytes += chunk.length;
    if (queuedBytes > MAX_QUEUED_BYTES) from.pause();
    enqueue(async () => {
      if (!send(chunk)) await waitForDrain(to);
      queuedBytes -= chunk.length;
      from.resume();
    });
  });
  from.on("end", () => enqueue(() => void to.end()));
}

async function waitForDrain(socket: Socket): Promise<void> {
  const finished = new AbortController();
  const options = { signal: finished.signal };
  // If the socket fails, its error listener handles the failure.
  await Promise.race([once(socket, "drain", options), once(socket, "close", options)]).catch(() => undefined);
  finished.abort();
}
