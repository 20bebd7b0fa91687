/** The quota service's numbers of messages in a workspace's month. */
export type MonthUsage = {
  workspaceId: string;
  used: number;
  /** The number of rows of the usage ledger, pruned ones included, plus the sum of the adjustments. */
  ledger: number;
  held: number;
  /** Covers the turn ids of the usage ledger, pruned ones included. */
  ledgerDigest: bigint;
  /** The part of `used` and of `ledger` that the operator added; negative if the operator removed messages. */
  adjusted: number;
  /** The part of `ledger` whose rows were pruned. */
  pruned: number;
  /** Whether quota's numbers of credits or overage differ from its reservations. */
  chargesDiffer: boolean;
};

/** The totals of a workspace's done turns in a month. */
export type DoneTurnTotals = {
  workspaceId: string;
  done: number;
  /** Covers the ids of the done turns, pruned ones included. */
  digest: bigint;
  /** The part of `done` whose rows were pruned. */
  pruned: number;
};

/** The turn ids of a workspace's month. The caller must read the sets in this order, so that turns in progress do not appear as differences. */
export type TurnSets = {
  /** Read first: the done turns that are no longer in the outbox. `counted`, which is read later, must contain them. */
  settled: ReadonlySet<string>;
  /** Read second: the turns in the quota service's usage ledger. */
  counted: ReadonlySet<string>;
  /** Read together with `counted`: the turns with a hold. */
  held: ReadonlySet<string>;
  /** Read third: the done turns. A turn is done before it is counted. */
  done: ReadonlySet<string>;
  /** Read fourth: the turns in `held` that were ever opened. */
  opened: ReadonlySet<string>;
  /** Read last: the turns in `held` that were closed, had left the outbox, and were still held by the quota service afterwards. */
  closedButHeld: ReadonlySet<string>;
};

export type DifferenceKind =
  | "reply_not_counted"
  | "counted_without_reply"
  | "held_without_turn"
  | "hold_not_settled"
  | "usage_is_not_ledger"
  | "charges_differ"
  | "totals_differ"
  | "unpaid_differs";

/** `turnId` is empty if the difference concerns no single turn. */
export type Difference = { kind: DifferenceKind; turnId: string };

/**
 * Whether the quota service has counted exactly the done turns, apart from adjustments, and has no holds. Compares digests too, because
 * different sets of turns can have equal counts.
 */
export function isReconciled(turns: Omit<DoneTurnTotals, "pruned">, usage: Omit<MonthUsage, "pruned">): boolean {
  const { used, ledger, held, ledgerDigest, adjusted, chargesDiffer } = usage;
  const isCounted = turns.done + adjusted === used && used === ledger && turns.digest === ledgerDigest;
  return isCounted && held === 0 && !chargesDiffer;
}

/** Returns the differences turn by turn. A difference between totals has an empty turn id. */
export function findDifferences(
  turns: TurnSets,
  { used, ledger, chargesDiffer }: Pick<MonthUsage, "used" | "ledger" | "chargesDiffer">,
): Difference[] {
  const toDifferences = (kind: DifferenceKind, ids: ReadonlySet<string>) =>
    [...ids].map((turnId) => ({ kind, turnId }));
  return [
    ...(used === ledger ? [] : [{ kind: "usage_is_not_ledger" as const, turnId: "" }]),
    ...(chargesDiffer ? [{ kind: "charges_differ" as const, turnId: "" }] : []),
    ...toDifferences("reply_not_counted", turns.settled.difference(turns.counted)),
    ...toDifferences("counted_without_reply", turns.counted.difference(turns.done)),
    ...toDifferences("held_without_turn", turns.held.difference(turns.opened)),
    ...toDifferences("hold_not_settled", turns.closedButHeld),
  ];
}
