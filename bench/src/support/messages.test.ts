import { expect, test } from "vitest";
import { splitIntoBatches } from "./messages.ts";

test.each([
  [250_000, 1],
  [1_000_000, 10],
  [5_000_000, 9_990],
  [600_000, 500_000],
])("splits %i turns into batches without splitting a group of %i turns", (turns, turnsPerGroup) => {
  const batches = splitIntoBatches(turns, turnsPerGroup);
  expect(batches[0]?.from).toBe(0);
  expect(batches.at(-1)?.to).toBe(turns);
  for (const [index, { from, to }] of batches.entries()) {
    expect(from % turnsPerGroup).toBe(0);
    expect(to).toBe(batches[index + 1]?.from ?? turns);
    expect(to - from).toBeLessThanOrEqual(Math.max(250_000, turnsPerGroup));
  }
});

test("returns one batch if all turns fit into it, and no batch for 0 turns", () => {
  expect(splitIntoBatches(50, 7)).toEqual([{ from: 0, to: 50 }]);
  expect(splitIntoBatches(0, 7)).toEqual([]);
});
