import { expect, test } from "vitest";
import { findDifferences, isReconciled } from "./reconcile.ts";

const usage = { workspaceId: "a", used: 2, ledger: 2, held: 0, ledgerDigest: 7n, adjusted: 0, chargesDiffer: false };

test("isReconciled is true only if the counts and digests are equal and nothing is held", () => {
  expect(isReconciled({ workspaceId: "a", done: 2, digest: 7n }, usage)).toBe(true);
  expect(isReconciled({ workspaceId: "a", done: 1, digest: 7n }, usage)).toBe(false);
  expect(isReconciled({ workspaceId: "a", done: 2, digest: 7n }, { ...usage, ledger: 1 })).toBe(false);
  expect(isReconciled({ workspaceId: "a", done: 2, digest: 7n }, { ...usage, held: 1 })).toBe(false);
});

test("isReconciled adds the operator's adjustments to the done turns before it compares them with usage", () => {
  const turns = { workspaceId: "a", done: 5, digest: 7n };
  expect(isReconciled(turns, { ...usage, adjusted: -3 })).toBe(true);
  expect(isReconciled(turns, { ...usage, adjusted: -2 })).toBe(false);
});

test("isReconciled is false if the counts are equal but the digests differ", () => {
  expect(isReconciled({ workspaceId: "a", done: 2, digest: 9n }, usage)).toBe(false);
});

const set = (...ids: string[]) => new Set(ids);
/** A month without differences. `TurnSets` describes the sets and the order in which they are read. */
const fine = {
  /** Done turns that have left the outbox. */
  settled: set("1", "2"),
  /** Turns in the usage ledger. */
  counted: set("1", "2"),
  held: set(),
  /** All done turns, read after `counted`. */
  done: set("1", "2"),
  /** The part of `held` that was ever opened, including turns that have ended. */
  opened: set(),
  /** The part of `held` that was closed, had left the outbox, and was still held afterwards. */
  closedButHeld: set(),
};

test("findDifferences ignores turns in progress", () => {
  // Turn 3 was settled after `settled` was read, turn 4 is done and in the outbox, turn 5 is open.
  const turns = {
    ...fine,
    counted: set("1", "2", "3"),
    done: set("1", "2", "3", "4"),
    held: set("4", "5"),
    opened: set("4", "5"),
  };
  expect(findDifferences(turns, { used: 3, ledger: 3, chargesDiffer: false })).toEqual([]);
});

test("findDifferences returns the kind and the turn of each difference", () => {
  expect(findDifferences({ ...fine, counted: set("1") }, { used: 1, ledger: 1, chargesDiffer: false })).toEqual([
    { kind: "reply_not_counted", turnId: "2" },
  ]);
  expect(
    findDifferences({ ...fine, counted: set("1", "2", "3") }, { used: 3, ledger: 3, chargesDiffer: false }),
  ).toEqual([{ kind: "counted_without_reply", turnId: "3" }]);
  expect(findDifferences({ ...fine, held: set("9") }, { used: 2, ledger: 2, chargesDiffer: false })).toEqual([
    { kind: "held_without_turn", turnId: "9" },
  ]);
  const held = { held: set("9"), opened: set("9"), closedButHeld: set("9") };
  expect(findDifferences({ ...fine, ...held }, { used: 2, ledger: 2, chargesDiffer: false })).toEqual([
    { kind: "hold_not_settled", turnId: "9" },
  ]);
  expect(findDifferences(fine, { used: 3, ledger: 2, chargesDiffer: false })).toEqual([
    { kind: "usage_is_not_ledger", turnId: "" },
  ]);
});
