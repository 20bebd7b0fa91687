/**
 * A workspace's month in the quota service. The digest covers the turn ids of the usage ledger, pruned ones included. `adjusted` is the part of
 * `used` and of `ledger` that the operator added or, if negative, removed.
 */
export type MonthUsage = {
  workspaceId: string;
  used: number;
  ledger: number;
  held: number;
  ledgerDigest: bigint;
  adjusted: number;
  /** The part of `ledger` whose rows were pruned. */
  pruned: number;
};

/** A workspace's month in the turns table. The digest covers the ids of the done turns, pruned ones included. */
export type DoneTurns = {
  workspaceId: string;
  done: number;
  digest: bigint;
  /** The part of `done` whose rows were pruned. */
  pruned: number;
};

/**
 * The turn ids of a workspace's month, for the comparison turn by turn. The caller must read them in this order, so that turns in progress
 * do not appear as differences.
 */
export type TurnSets = {
  /** Read first: the done turns that are no longer in the outbox. The usage ledger, which is read later, must contain them. */
  settled: ReadonlySet<string>;
  /** Read second, from the quota service: the turns in the usage ledger. */
  counted: ReadonlySet<string>;
  /** Read together with `counted`: the turns with a hold. */
  held: ReadonlySet<string>;
  /** Read third: the done turns. A turn is done before it is counted. */
  done: ReadonlySet<string>;
  /** Read fourth: the turns in `held` that were ever opened. */
  opened: ReadonlySet<string>;
  /** Read last: the turns in `held` that were closed and no longer in the outbox, and that the quota service still held afterwards. */
  unsettled: ReadonlySet<string>;
};

export type DifferenceKind =
  | "reply_not_counted"
  | "counted_without_reply"
  | "held_without_turn"
  | "hold_not_settled"
  | "usage_is_not_ledger"
  | "totals_differ";

export type Difference = { kind: DifferenceKind; turnId: string };

/**
 * Returns whether the usage is the number of done turns plus the adjustment, the digests are equal and nothing is held. Counts alone could be
 * equal although the turns differ.
 */
export function isReconciled(turns: Omit<DoneTurns, "pruned">, usage: Omit<MonthUsage, "pruned">): boolean {
  const { used, ledger, held, ledgerDigest, adjusted } = usage;
  return turns.done + adjusted === used && used === ledger && turns.digest === ledgerDigest && held === 0;
}

/** Returns the differences turn by turn. Turns in progress are not among them, because of the order in which the sets were read. */
export function findDifferences(turns: TurnSets, { used, ledger }: Pick<MonthUsage, "used" | "ledger">): Difference[] {
  const toDifferences = (kind: DifferenceKind, ids: ReadonlySet<string>) =>
    [...ids].map((turnId) => ({ kind, turnId }));
  return [
    ...(used === ledger ? [] : [{ kind: "usage_is_not_ledger" as const, turnId: "" }]),
    ...toDifferences("reply_not_counted", turns.settled.difference(turns.counted)),
    ...toDifferences("counted_without_reply", turns.counted.difference(turns.done)),
    ...toDifferences("held_without_turn", turns.held.difference(turns.opened)),
    ...toDifferences("hold_not_settled", turns.unsettled),
  ];
}
