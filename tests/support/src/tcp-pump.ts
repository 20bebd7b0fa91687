import { once } from "node:events";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

/** What a connection suffers. */
export interface Faults {
  isStalled: boolean;
  latencyMs: number;
  cutAfterBytes: number;
  corruptAfterBytes: number;
}

export const noFaults: Faults = {
  isStalled: false,
  latencyMs: 0,
  cutAfterBytes: Number.POSITIVE_INFINITY,
  corruptAfterBytes: Number.POSITIVE_INFINITY,
};

const maxQueuedBytes = 1024 * 1024;

export interface PumpOptions {
  /** Asked for every chunk. */
  faults(): Faults;
  /** Writes a chunk on; false when the receiver's buffer is full. */
  send(chunk: Buffer): boolean;
}

/** Passes one direction's bytes and its end on, in order, each as late as the faults say. */
export function pump(from: Socket, to: Socket, { faults, send }: PumpOptions): void {
  let tail = Promise.resolve();
  let queuedBytes = 0;

  function enqueue(step: () => void | Promise<void>): void {
    const due = performance.now() + faults().latencyMs;
    tail = tail.then(async () => {
      await sleep(Math.max(0, due - performance.now()));
      while (faults().isStalled && !to.destroyed) await sleep(5);
      if (!to.destroyed) await step();
    });
  }

  from.on("data", (chunk: Buffer) => {
    queuedBytes += chunk.length;
    if (queuedBytes > maxQueuedBytes) from.pause();
    enqueue(async () => {
      if (!send(chunk)) await drained(to);
      queuedBytes -= chunk.length;
      from.resume();
    });
  });
  from.on("end", () => enqueue(() => void to.end()));
}

async function drained(socket: Socket): Promise<void> {
  const settled = new AbortController();
  const options = { signal: settled.signal };
  // Either may fail when the socket does; its own listeners deal with that.
  await Promise.race([once(socket, "drain", options), once(socket, "close", options)]).catch(() => undefined);
  settled.abort();
}
