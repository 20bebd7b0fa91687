import type { RpcClient } from "@parley/rpc";
import { SETTLE_OUTCOMES } from "@parley/rpc/outcomes";
import { type QuotaService, type Reservation, ReservationState, SettleOutcome } from "@parley/rpc/quota";
import { cutPage, type Database, turnPageTokens } from "@parley/service-kit";
import type { NotifySettler } from "../turns/index.ts";
import {
  enqueueSettlements,
  listDoneTurns,
  readPrunedMonths,
  readTurnStates,
  type TurnKey,
  type TurnState,
  type TurnWindow,
} from "./turns.store.ts";
import { compareUnpaid } from "./unpaid.service.ts";

/** The kinds of repaired differences between turns and usage. Label values of parley_reconciliation_repairs_total. */
export const REPAIR_KINDS = [
  "reply_not_counted",
  "hold_not_settled",
  "held_without_turn",
  "counted_without_reply",
  "unpaid_differs",
] as const;

export type RepairKind = (typeof REPAIR_KINDS)[number];

/** `turnId` is empty for the kind unpaid_differs. */
export type Repair = TurnKey & { kind: RepairKind; action: "settle" | "void" | "adjust" | "recount" };

export type ReconcileQuotaClient = Pick<
  RpcClient<typeof QuotaService>,
  "listReservations" | "getReservations" | "adjustTurns" | "settle" | "listUnpaid" | "correctUnpaid"
>;

export type ReconcileDeps = {
  database: Database;
  quota: ReconcileQuotaClient;
  notifySettler: NotifySettler;
  onRepaired: (repairs: readonly Repair[]) => void;
};

export type ComparedPage = {
  repairs: Repair[];
  checked: number;
  /** The token of the next page; empty after the last page. */
  next: string;
  /** The time up to which the window has been compared; RFC 3339. */
  until: string;
};

/** Compares one page of a window and repairs its differences. `token` is empty for the first page. */
export type Comparison = (deps: ReconcileDeps, window: TurnWindow, token: string) => Promise<ComparedPage>;

const PAGE_SIZE = 1_000;
/** If the quota service restarts, the comparison waits for it instead of failing. */
const QUOTA_CALL_OPTIONS = { timeoutMs: 10_000, waitForReady: true };
/** The age at which a hold without a turn is settled as void. Longer than any turn can run (7 minutes). */
const ABANDONED_HOLD_SECONDS = 600;
const ADJUSTMENT_REASON = "reconciled";

/**
 * Compares the done turns of a window with quota's reservations. Skips turns that are still in the outbox. Reads the reservations last: by then,
 * quota has acknowledged the outcomes of the other turns. So if quota has not counted one of these turns, quota has lost the turn's outcome. If quota
 * stored the turn as void (not counted), adjusts the turn in quota. Otherwise puts the turn's outcome into the outbox again. Skips turns of closed
 * months, because quota may have pruned them.
 */
export const compareDoneTurns: Comparison = async (deps, window, token) => {
  const position = turnPageTokens.parse(token);
  const { turns, until } = await listDoneTurns(deps.database, window, { position, limit: PAGE_SIZE + 1 });
  const { page, last } = cutPage(turns, PAGE_SIZE);
  const states = await readReservationStates(
    deps,
    page.filter((turn) => !turn.isInOutbox && !turn.isMonthClosed),
  );
  const uncounted = states.filter(({ state }) => state !== ReservationState.DONE);
  const isVoid = ({ state }: { state: ReservationState }) => state === ReservationState.VOID;
  const repairs = [
    ...(await enqueue(
      deps,
      "reply_not_counted",
      uncounted.filter((turn) => !isVoid(turn)),
    )),
    ...(await adjust(deps, "reply_not_counted", uncounted.filter(isVoid))),
  ];
  return {
    repairs,
    checked: page.length,
    next: turnPageTokens.format(last && { ...last, at: last.closedAt }),
    until: last?.closedAt ?? until,
  };
};

/**
 * Compares the turns that quota counted in a window with the turns table. Reads the reservations first: quota counts a turn only after it is
 * done, so if a counted turn is not done, its reply was lost. A streaming turn is left to the sweeper and a later comparison. Skips pruned months,
 * because their turns are missing from the turns table although no reply was lost. Quota normally refuses to adjust these turns, because their
 * months are closed, but a restore of quota's database can open a month again.
 */
export const compareCountedTurns: Comparison = async (deps, window, token) => {
  const { reservations, nextPageToken, listedUntil } = await deps.quota.listReservations(
    { ...window, state: ReservationState.DONE, pageSize: PAGE_SIZE, pageToken: token },
    QUOTA_CALL_OPTIONS,
  );
  const states = await findTurnStates(deps.database, reservations);
  const pruned = await readPrunedMonths(deps.database);
  const withoutReply = reservations.filter((turn) => {
    if (pruned.has(turn.month)) return false;
    const status = states.get(keyOf(turn))?.status;
    return status !== "done" && status !== "streaming";
  });
  const repairs = await adjust(deps, "counted_without_reply", withoutReply);
  return { repairs, checked: reservations.length, next: nextPageToken, until: listedUntil };
};

/**
 * Compares quota's holds with the turns table. Settles the holds of closed turns again, and settles old holds as void if their turn was never
 * opened. Reads the holds of closed turns twice, because a turn may be settled between the reads of the hold and of the turn.
 */
export const compareHolds: Comparison = async (deps, window, token) => {
  const { reservations, nextPageToken, listedUntil } = await deps.quota.listReservations(
    { ...window, state: ReservationState.HELD, pageSize: PAGE_SIZE, pageToken: token },
    QUOTA_CALL_OPTIONS,
  );
  const states = await findTurnStates(deps.database, reservations);
  const closed = reservations.filter((turn) => isClosedAndNotInOutbox(states.get(keyOf(turn))));
  const stillHeld = (await readReservationStates(deps, closed)).filter(({ state }) => state === ReservationState.HELD);
  const isAbandoned = (hold: Reservation) => !states.has(keyOf(hold)) && hold.ageSeconds > ABANDONED_HOLD_SECONDS;
  const repairs = [
    ...(await enqueue(deps, "hold_not_settled", stillHeld)),
    ...(await settleAsVoid(deps, reservations.filter(isAbandoned))),
  ];
  return { repairs, checked: reservations.length, next: nextPageToken, until: listedUntil };
};

/**
 * Compares the unpaid replies of the current UTC day with quota's numbers, whatever the window, and corrects the numbers. Leaves a workspace to the
 * next comparison if replies of it are in the outbox, or if its number has changed since it was read: its turns are being settled then.
 */
export const compareUnpaidReplies: Comparison = async (deps, { workspaceId }) => {
  const differences = await compareUnpaid(deps.database, deps.quota, workspaceId);
  const repairs: Repair[] = [];
  for (const { workspaceId: id, day, counted, closed, isCertain } of differences) {
    if (!isCertain) continue;
    const request = { workspaceId: id, day, expected: counted, unpaid: closed };
    const { corrected } = await deps.quota.correctUnpaid(request, QUOTA_CALL_OPTIONS);
    if (corrected) repairs.push(...report(deps, [{ workspaceId: id, turnId: "" }], "unpaid_differs", "recount"));
  }
  return { repairs, checked: 0, next: "", until: "" };
};

function isClosedAndNotInOutbox(turn: TurnState | undefined): boolean {
  return turn !== undefined && turn.status !== "streaming" && !turn.isInOutbox;
}

function keyOf({ workspaceId, turnId }: TurnKey): string {
  return `${workspaceId} ${turnId}`;
}

function toTurnKey({ workspaceId, turnId }: TurnKey): TurnKey {
  return { workspaceId, turnId };
}

async function findTurnStates(database: Database, turns: readonly TurnKey[]): Promise<Map<string, TurnState>> {
  if (turns.length === 0) return new Map();
  const states = await readTurnStates(database, turns);
  return new Map(states.map((each) => [keyOf(each), each]));
}

/** Returns the turns with quota's state; UNSPECIFIED if quota does not know the turn. */
async function readReservationStates(
  { quota }: ReconcileDeps,
  turns: readonly TurnKey[],
): Promise<(TurnKey & { state: ReservationState })[]> {
  if (turns.length === 0) return [];
  const { reservations } = await quota.getReservations({ turns: turns.map(toTurnKey) }, QUOTA_CALL_OPTIONS);
  const states = new Map(reservations.map((each) => [keyOf(each), each.state]));
  return turns.map((turn) => ({ ...toTurnKey(turn), state: states.get(keyOf(turn)) ?? ReservationState.UNSPECIFIED }));
}

async function enqueue(deps: ReconcileDeps, kind: RepairKind, turns: readonly TurnKey[]): Promise<Repair[]> {
  if (turns.length === 0) return [];
  const enqueued = await enqueueSettlements(deps.database, turns);
  deps.notifySettler(enqueued);
  return report(deps, enqueued, kind, "settle");
}

async function settleAsVoid(deps: ReconcileDeps, turns: readonly TurnKey[]): Promise<Repair[]> {
  if (turns.length === 0) return [];
  const settlements = turns.map((turn) => ({ ...toTurnKey(turn), outcome: SETTLE_OUTCOMES.void, month: "" }));
  const { settled } = await deps.quota.settle({ settlements }, QUOTA_CALL_OPTIONS);
  const released = settled.filter(({ outcome }) => outcome === SettleOutcome.VOID);
  return report(deps, released, "held_without_turn", "void");
}

async function adjust(deps: ReconcileDeps, kind: RepairKind, turns: readonly TurnKey[]): Promise<Repair[]> {
  if (turns.length === 0) return [];
  const outcome = SETTLE_OUTCOMES[kind === "reply_not_counted" ? "done" : "void"];
  const { adjusted } = await deps.quota.adjustTurns(
    { turns: turns.map(toTurnKey), outcome, reason: ADJUSTMENT_REASON },
    QUOTA_CALL_OPTIONS,
  );
  return report(deps, adjusted, kind, "adjust");
}

/** Passes repairs to `onRepaired` immediately, so that they are reported even if a later repair fails. Returns the repairs. */
function report(deps: ReconcileDeps, turns: readonly TurnKey[], kind: RepairKind, action: Repair["action"]): Repair[] {
  const repairs = turns.map((turn) => ({ ...toTurnKey(turn), kind, action }));
  deps.onRepaired(repairs);
  return repairs;
}
