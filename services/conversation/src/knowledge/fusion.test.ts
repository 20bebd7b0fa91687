import { expect, test } from "vitest";
import { fuseRankings } from "./fusion.ts";

const ids = (...lists: number[][]) => fuseRankings(lists.map((list) => list.map((id) => ({ id })))).map(({ id }) => id);

test("items of both lists come first, and equal scores keep the order of the lists", () => {
  expect(ids([1, 2, 3], [4, 3, 5])).toEqual([3, 1, 4, 2, 5]);
});

test("a single list keeps its order", () => {
  expect(ids([3, 1, 2], [])).toEqual([3, 1, 2]);
  expect(ids([], [3, 1, 2])).toEqual([3, 1, 2]);
  expect(ids()).toEqual([]);
});

test("two fourth ranks outweigh one first rank", () => {
  expect(ids([1, 2, 3, 9], [4, 5, 6, 9])[0]).toBe(9);
});
