import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Take } from "../providers/text-sink.ts";
import { joined } from "./coalesce-text.ts";
import { FlushClock } from "./flush-clock.ts";

/** Texts that come so many turns of the event loop after one another. */
async function* paced(texts: readonly string[], turns: (n: number) => number, onEnd?: () => void) {
  try {
    for (const [n, text] of texts.entries()) {
      for (let i = 0; i < turns(n); i++) await turn();
      yield text;
    }
  } finally {
    onEnd?.();
  }
}

/** Tells of what it is given as a reply does: one that is cancelled ends, and one whose reader is slow waits. */
function told<Part>(parts: AsyncIterable<Part>) {
  return (take: Take<Part>) => {
    let isCancelled = false;
    const tell = async () => {
      for await (const part of parts) {
        if (isCancelled) break;
        await take(part);
      }
    };
    const cancel = () => {
      isCancelled = true;
    };
    return { done: tell(), cancel };
  };
}

async function collect(source: AsyncIterable<string>): Promise<string[]> {
  const texts: string[] = [];
  for await (const text of source) texts.push(text);
  return texts;
}

test("nothing is lost, added or out of order, however the texts come and are read", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.string({ minLength: 1 }), { maxLength: 20 }),
      fc.array(fc.nat(3), { minLength: 20, maxLength: 20 }),
      fc.nat(3),
      async (texts, turns, readerTurns) => {
        const clock = new FlushClock();
        let read = "";
        for await (const text of joined(told(paced(texts, (n) => turns[n] ?? 0)), () => clock.wait())) {
          read += text;
          for (let i = 0; i < readerTurns; i++) await turn();
        }
        expect(read).toBe(texts.join(""));
      },
    ),
    { numRuns: 200 },
  );
});

test("what is no text keeps its place among the texts", async () => {
  const tool = { name: "find" };
  async function* events() {
    yield "a";
    yield "b";
    yield tool;
    yield "c";
    await turn();
    yield tool;
  }
  const clock = new FlushClock();
  const read: (string | object)[] = [];
  for await (const event of joined(told<string | object>(events()), () => clock.wait())) read.push(event);
  const places = read.map((event, index) =>
    event === tool
      ? read
          .slice(0, index)
          .filter((each) => each !== tool)
          .join("")
      : "",
  );
  expect(places.filter((place) => place !== "")).toEqual(["ab", "abc"]);
  expect(read.filter((event) => event === tool)).toHaveLength(2);
});

test("the first text does not wait, and those that come within one window are one", async () => {
  const window = Promise.withResolvers<void>();
  const reading = joined(told(paced(["a", "b", "c"], () => 0)), () => window.promise);
  expect(await reading.next()).toEqual({ done: false, value: "a" });
  const second = reading.next();
  for (let i = 0; i < 5; i++) await turn();
  window.resolve();
  expect(await second).toEqual({ done: false, value: "bc" });
  expect(await reading.next()).toMatchObject({ done: true });
});

test("the end of the reply does not wait for the window", async () => {
  const never = () => Promise.withResolvers<void>().promise;
  expect(await collect(joined(told(paced(["all"], () => 0)), never))).toEqual(["all"]);
});

test("a failure comes after the text before it", async () => {
  async function* failing() {
    yield "a";
    yield "b";
    throw new Error("cut");
  }
  const read: string[] = [];
  const clock = new FlushClock();
  await expect(async () => {
    for await (const text of joined(told(failing()), () => clock.wait())) read.push(text);
  }).rejects.toThrow("cut");
  expect(read.join("")).toBe("ab");
});

test("a reader who leaves ends the source, also while nothing comes", async () => {
  let ended = 0;
  const clock = new FlushClock();
  const texts = joined(
    told(
      paced(
        Array.from({ length: 100 }, () => "x"),
        () => 1,
        () => {
          ended++;
        },
      ),
    ),
    () => clock.wait(),
  );
  for await (const _ of texts) break;
  expect(ended).toBe(1);
});

test("what a reader does not take is not read of the source without end", async () => {
  let sent = 0;
  async function* endless() {
    for (;;) {
      sent++;
      yield "x".repeat(1_024);
    }
  }
  const clock = new FlushClock();
  const reading = joined(told(endless()), () => clock.wait());
  await reading.next();
  for (let i = 0; i < 100; i++) await turn();
  expect(sent).toBeLessThan(40);
  await reading.return(undefined);
});

test("who leaves while the source waits for room lets it go on to its end", async () => {
  const done = Promise.withResolvers<void>();
  const waits: (Promise<void> | undefined)[] = [];
  const cancel = () => void Promise.all(waits).then(() => done.resolve());
  const clock = new FlushClock();
  const reading = joined(
    (take: Take<string>) => {
      for (let i = 0; i < 3; i++) waits.push(take("x".repeat(10_000)));
      return { done: done.promise, cancel };
    },
    () => clock.wait(),
  );
  await reading.next();
  await reading.return(undefined);
  expect(waits.map((wait) => wait !== undefined)).toEqual([false, true, true]);
});

test("what a source has said by its end is read in full, also what it said at one moment", async () => {
  const never = () => Promise.withResolvers<void>().promise;
  const source = (take: Take<string>) => {
    for (const text of ["a", "b", "c"]) void take(text);
    return { done: Promise.resolve(), cancel: () => undefined };
  };
  expect((await collect(joined(source, never))).join("")).toBe("abc");
});

test("with many replies the window is wider, but never beyond 20 ms, and all share its end", async () => {
  const clock = new FlushClock();
  for (let i = 0; i < 5_000; i++) clock.enter();
  const started = performance.now();
  const [first, second] = [clock.wait(), clock.wait()];
  expect(second).toBe(first);
  await first;
  const took = performance.now() - started;
  expect(took).toBeGreaterThan(15);
});
