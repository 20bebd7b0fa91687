/** What the quota service's books say of a workspace's month; the digest is over the turn ids of the ledger. */
export type Books = { workspaceId: string; used: number; ledger: number; held: number; ledgerDigest: bigint };

/** What the transcripts say of it; the digest is over the ids of the done turns. */
export type Transcripts = { workspaceId: string; done: number; digest: bigint };

/** The turns behind both, where a closer look is due. */
export type Turns = {
  /** Read first: done turns that had left the outbox, so the ledger has them by the time it is read. */
  settled: ReadonlySet<string>;
  /** Read second, from the quota service. */
  counted: ReadonlySet<string>;
  held: ReadonlySet<string>;
  /** Read last: done turns, which every counted one was before it was counted. */
  done: ReadonlySet<string>;
  /** Read last: those of `held` that were ever opened. */
  opened: ReadonlySet<string>;
};

export type DifferenceKind =
  | "reply_not_counted"
  | "counted_without_reply"
  | "held_without_turn"
  | "usage_is_not_ledger";

export type Difference = { kind: DifferenceKind; turnId: string };

/** Whether a workspace needs a closer look. Counts can agree by chance, so the turns' digests are compared too. */
export function agrees(transcripts: Transcripts, books: Books): boolean {
  const { used, ledger, held, ledgerDigest } = books;
  return transcripts.done === used && used === ledger && transcripts.digest === ledgerDigest && held === 0;
}

/** What does not agree, turn by turn. Because of the order in which the sets were read, none of it is merely on its way. */
export function findDifferences(turns: Turns, { used, ledger }: Pick<Books, "used" | "ledger">): Difference[] {
  const named = (kind: DifferenceKind, ids: ReadonlySet<string>) => [...ids].map((turnId) => ({ kind, turnId }));
  return [
    ...(used === ledger ? [] : [{ kind: "usage_is_not_ledger" as const, turnId: "" }]),
    ...named("reply_not_counted", turns.settled.difference(turns.counted)),
    ...named("counted_without_reply", turns.counted.difference(turns.done)),
    ...named("held_without_turn", turns.held.difference(turns.opened)),
  ];
}
