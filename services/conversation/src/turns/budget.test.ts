import { expect, test } from "vitest";
import { takeWithinBudget } from "./budget.ts";

test("takeWithinBudget stops before the first item that would exceed the budget", () => {
  const kept = (...lengths: number[]) => takeWithinBudget(lengths, (length) => length, 10);
  expect(kept(4, 6, 1)).toEqual([4, 6]);
  expect(kept(4, 7, 1)).toEqual([4]);
  expect(kept(11, 1)).toEqual([]);
});
