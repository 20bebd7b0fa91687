import type { TurnRecord } from "@parley/rpc/conversation";
import type { TurnEntry } from "@parley/rpc/quota";

export type Phase = { name: string; ms: number };

export type Times = {
  /** From the request to the end of the response. */
  wallMs: number;
  /** In order and without overlap. They add up to the wall time. */
  phases: readonly Phase[];
  /** From the end until the outcome was stored; undefined when unknown or not stored yet. */
  closeMs: number | undefined;
  /** From then until the quota service settled the turn. */
  settleMs: number | undefined;
};

/** The phases before the database stored the turn. */
const PHASES_UNTIL_OPEN = ["token", "limits", "key", "open", "retrieval"];

/**
 * Computes where a turn's time went. The edge reports the phases. Without them, the result has one phase, the time in the database
 * from opening to closing.
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

// No single clock measures CloseTurn. The database measures from opening to closing, and the edge measures from opening to the end
// of the response. The difference is the time of CloseTurn.
function closeMsOf(turn: TurnRecord, phases: readonly Phase[], openMs: number): number | undefined {
  if (turn.status === "streaming" || turn.status === "blocked") return undefined;
  const afterOpenMs = phases
    .filter(({ name }) => !PHASES_UNTIL_OPEN.includes(name))
    .reduce((sum, { ms }) => sum + ms, 0);
  return Math.max(0, Math.round(openMs - afterOpenMs));
}

function settleMsOf({ closedAt }: TurnRecord, entry: TurnEntry | undefined): number | undefined {
  const settledAt = entry?.settledAt || entry?.countedAt;
  if (!closedAt || !settledAt) return undefined;
  return Math.max(0, Date.parse(settledAt) - Date.parse(closedAt));
}
