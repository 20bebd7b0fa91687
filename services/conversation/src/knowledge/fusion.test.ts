import { expect, test } from "vitest";
import { fuseRankings } from "./fusion.ts";

const fusedIds = (...lists: number[][]) =>
  fuseRankings(lists.map((list) => list.map((id) => ({ id })))).map(({ id }) => id);

test("fuseRankings puts items that are in both lists first, and items with equal scores in the order of the lists", () => {
  expect(fusedIds([1, 2, 3], [4, 3, 5])).toEqual([3, 1, 4, 2, 5]);
});

test("fuseRankings keeps the order of a single list", () => {
  expect(fusedIds([3, 1, 2], [])).toEqual([3, 1, 2]);
  expect(fusedIds([], [3, 1, 2])).toEqual([3, 1, 2]);
  expect(fusedIds()).toEqual([]);
});

test("fuseRankings ranks an item that is fourth in two lists above an item that is first in one list", () => {
  expect(fusedIds([1, 2, 3, 9], [4, 5, 6, 9])[0]).toBe(9);
});
