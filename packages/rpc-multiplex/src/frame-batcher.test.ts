import { EventEmitter } from "node:events";
import { setImmediate as nextIteration } from "node:timers/promises";
import { expect, test } from "vitest";
import { FrameBatcher } from "./frame-batcher.ts";

/** A stream that reports backpressure from its `capacity`-th message on. */
class TestStream extends EventEmitter {
  readonly messages: string[][] = [];
  capacity: number;
  constructor(capacity = Number.POSITIVE_INFINITY) {
    super();
    this.capacity = capacity;
  }
  write(message: string[]): boolean {
    this.messages.push(message);
    return --this.capacity > 0;
  }
  drain(capacity: number): void {
    this.capacity = capacity;
    this.emit("drain");
  }
}

const KIB = 1024;
const batcherOf = (stream: TestStream) => new FrameBatcher<string, string[]>(stream, (frames) => frames);

test("writes the frames of one iteration of the event loop as one message, in order", async () => {
  const stream = new TestStream();
  const batcher = batcherOf(stream);
  batcher.add("a", 1);
  await Promise.resolve();
  batcher.add("b", 1);
  expect(stream.messages).toEqual([]);
  await nextIteration();
  batcher.add("c", 1);
  await nextIteration();
  expect(stream.messages).toEqual([["a", "b"], ["c"]]);
});

test("splits a batch above 64 KiB, and writes a frame above 64 KiB alone", async () => {
  const stream = new TestStream();
  const batcher = batcherOf(stream);
  for (const [name, bytes] of [
    ["a", 30],
    ["b", 30],
    ["c", 30],
    ["d", 300],
    ["e", 1],
  ] as const)
    batcher.add(name, bytes * KIB);
  await nextIteration();
  expect(stream.messages).toEqual([["a", "b"], ["c"], ["d"], ["e"]]);
});

test("writes nothing under backpressure until the stream has drained", async () => {
  const stream = new TestStream(1);
  const batcher = batcherOf(stream);
  batcher.add("a", 1);
  await nextIteration();
  expect(batcher.isBlocked).toBe(true);
  for (const frame of ["b", "c"]) {
    batcher.add(frame, 1);
    await nextIteration();
  }
  expect(stream.messages).toEqual([["a"]]);
  stream.drain(2);
  expect(stream.messages).toEqual([["a"], ["b", "c"]]);
  expect(batcher.isBlocked).toBe(false);
});

test("flush writes every pending frame despite backpressure", () => {
  const stream = new TestStream(1);
  const batcher = batcherOf(stream);
  batcher.add("a", 60 * KIB);
  batcher.add("b", 60 * KIB);
  batcher.flush();
  expect(stream.messages).toEqual([["a"], ["b"]]);
});
