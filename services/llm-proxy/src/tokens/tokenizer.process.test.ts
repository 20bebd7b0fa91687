import { afterEach, expect, test } from "vitest";
import { Tokenizer, type TokenizerOptions } from "./tokenizer.client.ts";

const closers: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

function tokenizer(options: TokenizerOptions = {}): Tokenizer {
  return new Tokenizer({ onClose: (_, close) => void closers.push(close) }, options);
}
const LONG_TIMEOUTS = { waitMs: 20_000, maxCountMs: 30_000 };

test("counts tokens with the vocabulary of the model's family, and returns undefined for a family without a vocabulary", async () => {
  const counter = tokenizer(LONG_TIMEOUTS);
  const texts = ["Hello world", "", "Yes, you can export the whole conversation as JSON.", "<|endoftext|>"];
  const counts = await counter.count("gpt-4o-mini", texts);
  expect(counts?.slice(0, 3)).toEqual([2, 0, 11]);
  // A special token is counted as ordinary text.
  expect(counts?.[3]).toBeGreaterThan(1);
  expect(await counter.count("gpt-4", ["Hello world"])).toEqual([2]);
  expect(await counter.count("llama3.2", ["Hello world"])).toBeUndefined();
});

test("does not block the event loop while the vocabulary loads, and returns undefined if the first count takes longer than waitMs", async () => {
  const counter = tokenizer({ waitMs: 50 });
  let ticks = 0;
  const ticking = setInterval(() => ticks++, 1);
  expect(await counter.count("gpt-4o", ["Hello"])).toBeUndefined();
  await expect.poll(() => counter.count("gpt-4o", ["Hello"]), { timeout: 20_000, interval: 50 }).toEqual([1]);
  clearInterval(ticking);
  expect(ticks).toBeGreaterThan(20);
});

test("terminates the thread of a count that takes too long, and counts the next text", async () => {
  const startedAt = performance.now();
  await tokenizer(LONG_TIMEOUTS).count("gpt-4o", ["Hello"]);
  // maxCountMs includes loading the vocabulary, which takes seconds on a busy machine.
  const counter = tokenizer({ waitMs: 300, maxCountMs: 3 * (performance.now() - startedAt) });
  await expect.poll(() => counter.count("gpt-4o", ["Hello"]), { timeout: 30_000, interval: 50 }).toEqual([1]);
  expect(await counter.count("gpt-4o", ["a".repeat(390_000)])).toBeUndefined();
  await expect.poll(() => counter.count("gpt-4o", ["Hello"]), { timeout: 50_000, interval: 200 }).toEqual([1]);
}, 120_000);

test("returns undefined for a text that is too long", async () => {
  expect(await tokenizer(LONG_TIMEOUTS).count("gpt-4o", ["x".repeat(400_001)])).toBeUndefined();
});
