import type { TurnRecord } from "@parley/rpc/conversation";
import type { TurnEntry } from "@parley/rpc/quota";

export type Slice = { name: string; ms: number };

export type Times = {
  /** From the request to its end. */
  wallMs: number;
  /** Disjoint, in order, and together the wall time. */
  phases: readonly Slice[];
  /** From the end until the outcome was stored; undefined when it is not, or nobody could tell. */
  closeMs: number | undefined;
  /** From then until the quota service had it on its books. */
  settleMs: number | undefined;
};

/** What lies before the clock of the database has begun to run for a turn. */
const UNTIL_OPEN = ["token", "limits", "key", "open", "retrieval"];

/**
 * Where the time of a turn went. The phases are the edge's own; a turn whose edge could not tell them has a single one, from its
 * opening to its end by the database's clock.
 */
export function timesOf(turn: TurnRecord, entry: TurnEntry | undefined): Times {
  const openMs = Number(turn.openMicroseconds) / 1_000;
  const settleMs = settleMsOf(turn, entry);
  if (turn.phases.length === 0) {
    const phases = [{ name: "unrecorded", ms: openMs }];
    return { wallMs: openMs, phases, closeMs: undefined, settleMs };
  }
  const phases = turn.phases.map(({ name, microseconds }) => ({ name, ms: Number(microseconds) / 1_000 }));
  return { wallMs: turn.latencyMs, phases, closeMs: closeMsOf(turn, phases, openMs), settleMs };
}

// No one clock sees the close from its beginning to its end. The database saw the turn from its opening to its close, and the edge
// told how long it took from when it was open; what is left over is how long its closing took.
function closeMsOf(turn: TurnRecord, phases: readonly Slice[], openMs: number): number | undefined {
  if (turn.status === "streaming" || turn.status === "blocked") return undefined;
  const answering = phases.filter(({ name }) => !UNTIL_OPEN.includes(name)).reduce((sum, { ms }) => sum + ms, 0);
  return Math.max(0, Math.round(openMs - answering));
}

function settleMsOf({ closedAt }: TurnRecord, entry: TurnEntry | undefined): number | undefined {
  const settledAt = entry?.settledAt || entry?.countedAt;
  if (!closedAt || !settledAt) return undefined;
  return Math.max(0, Date.parse(settledAt) - Date.parse(closedAt));
}
