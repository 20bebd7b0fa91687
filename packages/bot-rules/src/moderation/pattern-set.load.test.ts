import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { MAX_TOTAL_PATTERN_SIZE } from "./acceptance.ts";
import { PatternSet } from "./pattern-set.ts";

/** An automaton of these patterns needs a state for each possible set of positions of "buy", "sell" and "send" in the last 60 characters. */
const SLOW_PATTERNS = Array.from({ length: 50 }, (_, number) => `(buy|sell|send).{0,60}(bitcoin|crypto)${number}`);

function randomMessage(length: number): string {
  let message = "";
  while (message.length < length) message += ["buy", "sell", "send", "a", "go ", "x"][Math.floor(Math.random() * 6)];
  return message.slice(0, length);
}

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

function heapMiB(): number {
  collectGarbage();
  return process.memoryUsage().heapUsed / 2 ** 20;
}

test("2,000 random messages grow the heap by at most 16 MiB even if the automata grow with each message", () => {
  const before = heapMiB();
  const set = new PatternSet(SLOW_PATTERNS);
  for (let count = 0; count < 2_000; count++) set.findFirstMatch(randomMessage(20));
  const grownMiB = heapMiB() - before;
  expect(set.findFirstMatch("")).toBe(-1);
  expect(grownMiB).toBeLessThan(16);
  expect(set.bytes).toBeLessThan(16 * 2 ** 20);
}, 120_000);

const randomText = (words: number, ...vocabulary: readonly string[]) =>
  Array.from({ length: words }, () => vocabulary[Math.floor(Math.random() * vocabulary.length)]).join("");

test.each([
  [
    "whose automata grow with each text",
    SLOW_PATTERNS.slice(0, 13),
    () => randomText(1_600, "buy", "sell", "a", "go "),
  ],
  [
    "which match partially everywhere in the text",
    Array.from({ length: 7 }, (_, number) => `a.{0,136}z${number}`),
    () => randomText(4_000, "a", "b"),
  ],
  [
    "with large repetition counts",
    Array.from({ length: 7 }, (_, number) => `[ab]{280}z${number}`),
    () => randomText(4_000, "a", "b"),
  ],
  [
    "with character classes",
    Array.from({ length: 7 }, (_, number) => `a\\pL{0,136}z${number}`),
    () => randomText(4_000, "a", "b"),
  ],
])(
  "if patterns %s have nearly the maximum total size, matching about 4,000 characters takes less than 0.5 s of CPU time",
  (_, patterns, createText) => {
    const set = new PatternSet(patterns);
    expect(set.size).toBeGreaterThan(MAX_TOTAL_PATTERN_SIZE * 0.95);
    expect(set.size).toBeLessThanOrEqual(MAX_TOTAL_PATTERN_SIZE);
    const times = Array.from({ length: 5 }, () => {
      const text = createText();
      const before = process.cpuUsage();
      set.findFirstMatch(text);
      const { user, system } = process.cpuUsage(before);
      return (user + system) / 1_000;
    });
    expect(Math.min(...times)).toBeLessThan(500);
  },
  30_000,
);
