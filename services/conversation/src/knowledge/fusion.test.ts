import { expect, test } from "vitest";
import { fuse } from "./fusion.ts";

const ids = (...lists: number[][]) => fuse(lists.map((list) => list.map((id) => ({ id })))).map(({ id }) => id);

test("what both lists have comes before what one has, and the earlier list goes first", () => {
  expect(ids([1, 2, 3], [4, 3, 5])).toEqual([3, 1, 4, 2, 5]);
});

test("one list alone keeps its order", () => {
  expect(ids([3, 1, 2], [])).toEqual([3, 1, 2]);
  expect(ids([], [3, 1, 2])).toEqual([3, 1, 2]);
  expect(ids()).toEqual([]);
});

test("two middling places outweigh one first", () => {
  expect(ids([1, 2, 3, 9], [4, 5, 6, 9])[0]).toBe(9);
});
