import type { TurnRecord } from "@parley/rpc/conversation";
import type { TurnEntry } from "@parley/rpc/quota";

export type Phase = { name: string; ms: number };

export type TurnTimes = {
  /** From the request until the edge sent CloseTurn. If the edge reported no phases, see computeTurnTimes. */
  wallMs: number;
  /** In the order in which the turn first entered the phases. The phases do not overlap, and add up to `wallMs`. */
  phases: readonly Phase[];
  /** From sending CloseTurn until the conversation service stored the outcome; undefined when unknown or not stored yet. */
  closeMs: number | undefined;
  /** From the stored outcome until the quota service settled the turn; undefined when unknown or not settled yet. */
  settleMs: number | undefined;
};

/** The phases up to the database's opened_at: see docs/operations/explain.md. */
const PHASES_UNTIL_OPEN = ["token", "limits", "key", "open", "retrieval"];

/**
 * Computes how a turn's time was spent. If the edge reported no phases, the result has one phase: from opened_at to closed_at, or to
 * now while the turn is streaming, by the database's clock.
 */
export function computeTurnTimes(turn: TurnRecord, entry: TurnEntry | undefined): TurnTimes {
  const openedToClosedMs = Number(turn.openMicroseconds) / 1_000;
  const settleMs = settleMsOf(turn, entry);
  if (turn.phases.length === 0) {
    const phases = [{ name: "unrecorded", ms: openedToClosedMs }];
    return { wallMs: openedToClosedMs, phases, closeMs: undefined, settleMs };
  }
  const phases = turn.phases.map(({ name, microseconds }) => ({ name, ms: Number(microseconds) / 1_000 }));
  return { wallMs: turn.latencyMs, phases, closeMs: closeMsOf(turn, phases, openedToClosedMs), settleMs };
}

// The close time is the database's time from opening to closing, minus the edge's time from opening to sending CloseTurn.
// Returns undefined for the status blocked, which does not show whether OpenTurn (blocked message) or CloseTurn (blocked reply) closed the turn.
function closeMsOf(turn: TurnRecord, phases: readonly Phase[], openedToClosedMs: number): number | undefined {
  if (turn.status === "streaming" || turn.status === "blocked") return undefined;
  const afterOpenMs = phases
    .filter(({ name }) => !PHASES_UNTIL_OPEN.includes(name))
    .reduce((sum, { ms }) => sum + ms, 0);
  return Math.max(0, Math.round(openedToClosedMs - afterOpenMs));
}

function settleMsOf({ closedAt }: TurnRecord, entry: TurnEntry | undefined): number | undefined {
  const settledAt = entry?.settledAt;
  if (!closedAt || !settledAt) return undefined;
  return Math.max(0, Date.parse(settledAt) - Date.parse(closedAt));
}
