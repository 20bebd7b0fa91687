import { expect, test } from "vitest";
import { agrees, findDifferences } from "./reconcile.ts";

const books = { workspaceId: "a", used: 2, ledger: 2, held: 0, ledgerDigest: 7n };

test("a workspace agrees when counts and turns do, and nothing is held", () => {
  expect(agrees({ workspaceId: "a", done: 2, digest: 7n }, books)).toBe(true);
  expect(agrees({ workspaceId: "a", done: 1, digest: 7n }, books)).toBe(false);
  expect(agrees({ workspaceId: "a", done: 2, digest: 7n }, { ...books, ledger: 1 })).toBe(false);
  expect(agrees({ workspaceId: "a", done: 2, digest: 7n }, { ...books, held: 1 })).toBe(false);
});

test("equal counts of other turns do not agree", () => {
  expect(agrees({ workspaceId: "a", done: 2, digest: 9n }, books)).toBe(false);
});

const set = (...ids: string[]) => new Set(ids);
const fine = { settled: set("1", "2"), counted: set("1", "2"), held: set(), done: set("1", "2"), opened: set() };

test("what is on its way is no difference", () => {
  // 3 was counted between the first and the last look; 4 is done and waits; 5 is open.
  const turns = {
    ...fine,
    counted: set("1", "2", "3"),
    done: set("1", "2", "3", "4"),
    held: set("4", "5"),
    opened: set("4", "5"),
  };
  expect(findDifferences(turns, { used: 3, ledger: 3 })).toEqual([]);
});

test("each kind of difference is named with its turn", () => {
  expect(findDifferences({ ...fine, counted: set("1") }, { used: 1, ledger: 1 })).toEqual([
    { kind: "reply_not_counted", turnId: "2" },
  ]);
  expect(findDifferences({ ...fine, counted: set("1", "2", "3") }, { used: 3, ledger: 3 })).toEqual([
    { kind: "counted_without_reply", turnId: "3" },
  ]);
  expect(findDifferences({ ...fine, held: set("9") }, { used: 2, ledger: 2 })).toEqual([
    { kind: "held_without_turn", turnId: "9" },
  ]);
  expect(findDifferences(fine, { used: 3, ledger: 2 })).toEqual([{ kind: "usage_is_not_ledger", turnId: "" }]);
});
