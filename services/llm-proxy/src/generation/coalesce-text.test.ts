import { setImmediate as nextIteration } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Sink } from "../providers/text-sink.ts";
import { coalesceText, type TextSource } from "./coalesce-text.ts";
import { FlushClock } from "./flush-clock.ts";

/** Yields texts, each after a number of iterations of the event loop. */
async function* paced(texts: readonly string[], iterations: (index: number) => number, onEnd?: () => void) {
  try {
    for (const [index, text] of texts.entries()) {
      for (let count = 0; count < iterations(index); count++) await nextIteration();
      yield text;
    }
  } finally {
    onEnd?.();
  }
}

/** Returns a function that starts a source of the parts. The source waits under backpressure. */
function sourceOf<Part>(parts: AsyncIterable<Part>) {
  return (sink: Sink<Part>): TextSource => {
    let isCancelled = false;
    const send = async () => {
      for await (const part of parts) {
        if (isCancelled) break;
        await sink(part);
      }
    };
    const cancel = () => {
      isCancelled = true;
    };
    return { done: send(), cancel };
  };
}

const clock = new FlushClock();

function coalesce<Part extends string | object>(
  start: (sink: Sink<Part>) => TextSource,
  waitForFlush: () => Promise<void> = () => clock.waitForFlush(),
) {
  const { sink, read } = coalesceText<Part>(waitForFlush);
  return read(start(sink));
}

async function collect(parts: AsyncIterable<string>): Promise<string[]> {
  const texts: string[] = [];
  for await (const text of parts) texts.push(text);
  return texts;
}

const never = () => Promise.withResolvers<void>().promise;

test("preserves the text and its order for random writes and reads", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ minLength: 1 }), { maxLength: 20 }),
      fc.array(fc.nat(3), { minLength: 20, maxLength: 20 }),
      fc.nat(3),
      async (texts, iterations, readerIterations) => {
        let read = "";
        for await (const text of coalesce(sourceOf(paced(texts, (index) => iterations[index] ?? 0)))) {
          read += text;
          for (let count = 0; count < readerIterations; count++) await nextIteration();
        }
        expect(read).toBe(texts.join(""));
      },
    ),
    { numRuns: 200 },
  );
});

test("keeps the order of texts and other parts", async () => {
  const tool = { name: "find" };
  async function* events() {
    yield "a";
    yield "b";
    yield tool;
    yield "c";
    await nextIteration();
    yield tool;
  }
  const read: (string | object)[] = [];
  for await (const event of coalesce(sourceOf<string | object>(events()))) read.push(event);
  const textsBefore = read.flatMap((event, index) =>
    event === tool
      ? [
          read
            .slice(0, index)
            .filter((each) => each !== tool)
            .join(""),
        ]
      : [],
  );
  expect(textsBefore).toEqual(["ab", "abc"]);
});

test("sends the first text immediately, and coalesces the texts that arrive before the flush", async () => {
  const flush = Promise.withResolvers<void>();
  const reading = coalesce(sourceOf(paced(["a", "b", "c"], () => 0)), () => flush.promise);
  expect(await reading.next()).toEqual({ done: false, value: "a" });
  const second = reading.next();
  for (let count = 0; count < 5; count++) await nextIteration();
  flush.resolve();
  expect(await second).toEqual({ done: false, value: "bc" });
  expect(await reading.next()).toMatchObject({ done: true });
});

test("when the source ends, does not wait for the flush", async () => {
  expect(await collect(coalesce(sourceOf(paced(["all"], () => 0)), never))).toEqual(["all"]);
});

test("yields the text that precedes the source's error, and then throws the error", async () => {
  async function* failing() {
    yield "a";
    yield "b";
    throw new Error("cut");
  }
  const read: string[] = [];
  await expect(async () => {
    for await (const text of coalesce(sourceOf(failing()))) read.push(text);
  }).rejects.toThrow("cut");
  expect(read.join("")).toBe("ab");
});

test("when the reader stops, cancels the source and waits until the source has ended", async () => {
  let hasEnded = false;
  const texts = Array.from({ length: 100 }, () => "x");
  const source = paced(
    texts,
    () => 1,
    () => {
      hasEnded = true;
    },
  );
  for await (const _ of coalesce(sourceOf(source))) break;
  expect(hasEnded).toBe(true);
});

test("an endless source waits while the reader does not read", async () => {
  let sent = 0;
  async function* endless() {
    for (;;) {
      sent++;
      yield "x".repeat(1_024);
    }
  }
  const reading = coalesce(sourceOf(endless()));
  await reading.next();
  for (let count = 0; count < 100; count++) await nextIteration();
  expect(sent).toBeLessThan(40);
  await reading.return(undefined);
});

test("when the reader stops, a source that waits under backpressure is released", async () => {
  const done = Promise.withResolvers<void>();
  const waits: (Promise<void> | undefined)[] = [];
  const cancel = () => void Promise.all(waits).then(() => done.resolve());
  const reading = coalesce((sink: Sink<string>) => {
    for (let part = 0; part < 3; part++) waits.push(sink("x".repeat(10_000)));
    return { done: done.promise, cancel };
  });
  await reading.next();
  await reading.return(undefined);
  expect(waits.map((wait) => wait !== undefined)).toEqual([false, true, true]);
});

test("the reader gets the whole text even if the source has ended before the first read", async () => {
  const source = (sink: Sink<string>): TextSource => {
    for (const text of ["a", "b", "c"]) void sink(text);
    return { done: Promise.resolve(), cancel: () => undefined };
  };
  expect((await collect(coalesce(source, never))).join("")).toBe("abc");
});
