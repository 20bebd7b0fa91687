import { type Database, sqlState } from "@parley/service-kit";

export type Reservation =
  | { status: "held"; month: string; plan: string; used: number; cap: number }
  | { status: "exceeded" | "settled"; plan: string; used: number; cap: number };

export type Outcome = "done" | "void";

export type Settlement = { workspaceId: string; turnId: string; outcome: Outcome; month: string | undefined };

export type Settled = { workspaceId: string; turnId: string; outcome: Outcome };

// One statement. The usage row is locked by its upsert, which is what makes used + held < cap hold for all at once; the reservation's
// primary key then refuses a second hold of the same turn, and with it takes the whole statement back.
const RESERVE = `
  WITH plan AS (
    SELECT w.plan, p.monthly_cap AS cap, date_trunc('month', now() AT TIME ZONE 'UTC')::date AS month
    FROM quota.workspaces w JOIN quota.plans p USING (plan)
    WHERE w.workspace_id = $1
  ), standing AS (
    SELECT r.state, r.month FROM quota.reservations r WHERE r.workspace_id = $1 AND r.turn_id = $2
  ), taken AS (
    INSERT INTO quota.usage AS u (workspace_id, month, held)
    SELECT $1, plan.month, 1 FROM plan WHERE plan.cap > 0 AND NOT EXISTS (SELECT FROM standing)
    ON CONFLICT (workspace_id, month) DO UPDATE SET held = u.held + 1
      WHERE u.used + u.held < (SELECT cap FROM plan)
    RETURNING u.month, u.used + u.held AS used
  ), held AS (
    INSERT INTO quota.reservations (workspace_id, turn_id, month, state)
    SELECT $1, $2, taken.month, 'held' FROM taken
  )
  SELECT plan.plan, plan.cap, standing.state,
         to_char(coalesce(taken.month, standing.month), 'YYYY-MM') AS month,
         coalesce(taken.used, now_used.used, 0) AS used
  FROM plan
  LEFT JOIN standing ON true
  LEFT JOIN taken ON true
  LEFT JOIN LATERAL (
    SELECT u.used + u.held AS used FROM quota.usage u WHERE u.workspace_id = $1 AND u.month = plan.month
  ) now_used ON true`;

const UNIQUE_VIOLATION = "23505";
/**
 * Reserve and Settle both lock a month's row before reservations. A Settle cannot lock the row of a month that a Reserve is only just
 * writing the first reservation of; should they meet on that very turn, PostgreSQL ends one of them.
 */
const DEADLOCK = "40P01";
const ATTEMPTS = 3;

/** Holds one message of the current month for a turn; undefined when the workspace is unknown. */
export async function reserve(
  database: Database,
  workspaceId: string,
  turnId: string,
): Promise<Reservation | undefined> {
  const reservation = await reserveBesideOthers(database, workspaceId, turnId);
  // The month may have been full because this very turn, asked for at the same moment, took its last message.
  const wasBeaten = reservation?.status === "exceeded" && (await isReserved(database, workspaceId, turnId));
  return wasBeaten ? reserveBesideOthers(database, workspaceId, turnId) : reservation;
}

async function reserveBesideOthers(
  database: Database,
  workspaceId: string,
  turnId: string,
): Promise<Reservation | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await reserveOnce(database, workspaceId, turnId);
    } catch (error) {
      // The same turn was reserved or settled beside us: nothing was written, and what stands now can be read.
      const wasBeaten = sqlState(error) === UNIQUE_VIOLATION || sqlState(error) === DEADLOCK;
      if (!wasBeaten || attempt === ATTEMPTS) throw error;
    }
  }
}

async function isReserved(database: Database, workspaceId: string, turnId: string): Promise<boolean> {
  const { rowCount } = await database.query({
    name: "is_reserved",
    text: "SELECT FROM quota.reservations WHERE workspace_id = $1 AND turn_id = $2",
    values: [workspaceId, turnId],
  });
  return rowCount === 1;
}

type ReserveRow = { plan: string; cap: number; state: "held" | Outcome | null; month: string | null; used: number };

async function reserveOnce(database: Database, workspaceId: string, turnId: string): Promise<Reservation | undefined> {
  const { rows } = await database.query<ReserveRow>({ name: "reserve", text: RESERVE, values: [workspaceId, turnId] });
  const row = rows[0];
  if (row === undefined) return undefined;
  const { plan, cap, state, month } = row;
  const used = Math.min(row.used, cap);
  if (state === "done" || state === "void") return { status: "settled", plan, used, cap };
  if (month !== null) return { status: "held", month, plan, used, cap };
  // A refusal means that used + held had reached the cap when the row was locked, whatever this statement's snapshot shows.
  return { status: "exceeded", plan, used: cap, cap };
}

// The months' rows first, in one order for all, as Reserve takes them; then the reservations, in one order for all. A hold keeps its own
// month; only a done turn without one (a restored database) is counted in the month it carries. xmax is set on rows that were there
// before.
const SETTLE = `
  WITH input AS MATERIALIZED (
    SELECT i.workspace_id, i.turn_id, i.outcome,
           coalesce(r.month, to_date(i.month, 'YYYY-MM'), date_trunc('month', now() AT TIME ZONE 'UTC')::date) AS month
    FROM unnest($1::text[], $2::uuid[], $3::text[], $4::text[]) AS i (workspace_id, turn_id, outcome, month)
    LEFT JOIN quota.reservations r ON r.workspace_id = i.workspace_id AND r.turn_id = i.turn_id
  ), locked AS MATERIALIZED (
    SELECT FROM (SELECT DISTINCT workspace_id, month FROM input ORDER BY workspace_id, month) i
    CROSS JOIN LATERAL (
      SELECT FROM quota.usage u WHERE u.workspace_id = i.workspace_id AND u.month = i.month FOR NO KEY UPDATE
    ) u
  ), moved AS (
    INSERT INTO quota.reservations AS r (workspace_id, turn_id, month, state, settled_at)
    SELECT workspace_id, turn_id, month, outcome, now()
    FROM input CROSS JOIN (SELECT count(*) FROM locked) AS once_locked
    ORDER BY workspace_id, turn_id
    ON CONFLICT (workspace_id, turn_id) DO UPDATE SET state = excluded.state, settled_at = now() WHERE r.state = 'held'
    RETURNING r.workspace_id, r.turn_id, r.month, r.state, r.xmax <> 0 AS was_held
  ), change AS (
    SELECT workspace_id, month,
           count(*) FILTER (WHERE state = 'done')::integer AS counted,
           count(*) FILTER (WHERE was_held)::integer AS released
    FROM moved WHERE state = 'done' OR was_held
    GROUP BY workspace_id, month
  ), booked AS (
    INSERT INTO quota.usage AS u (workspace_id, month, used)
    SELECT workspace_id, month, counted FROM change ORDER BY workspace_id, month
    ON CONFLICT (workspace_id, month) DO UPDATE
      SET used = u.used + excluded.used,
          held = u.held - (SELECT c.released FROM change c WHERE c.workspace_id = u.workspace_id AND c.month = u.month)
  ), proof AS (
    INSERT INTO quota.ledger (workspace_id, month, turn_id)
    SELECT workspace_id, month, turn_id FROM moved WHERE state = 'done'
  )
  SELECT i.workspace_id AS "workspaceId", i.turn_id AS "turnId", coalesce(m.state, r.state) AS outcome
  FROM input i
  LEFT JOIN moved m USING (workspace_id, turn_id)
  LEFT JOIN quota.reservations r USING (workspace_id, turn_id)
  WHERE coalesce(m.state, r.state) <> 'held'`;

/**
 * Ends holds, the first outcome of a turn for good. Answers with what stands for each turn; a turn that another call was settling
 * at the same moment may be missing and is to be sent again.
 */
export async function settle(database: Database, settlements: readonly Settlement[]): Promise<Settled[]> {
  const once = firstOfEachTurn(settlements);
  const values = [
    once.map((each) => each.workspaceId),
    once.map((each) => each.turnId),
    once.map((each) => each.outcome),
    once.map((each) => each.month ?? null),
  ];
  for (let attempt = 1; ; attempt++) {
    try {
      const { rows } = await database.query<Settled>({ name: "settle", text: SETTLE, values });
      return rows;
    } catch (error) {
      if (sqlState(error) !== DEADLOCK || attempt === ATTEMPTS) throw error;
    }
  }
}

function firstOfEachTurn(settlements: readonly Settlement[]): Settlement[] {
  const byTurn = new Map<string, Settlement>();
  for (const each of settlements) {
    const key = `${each.workspaceId} ${each.turnId}`;
    if (!byTurn.has(key)) byTurn.set(key, each);
  }
  return [...byTurn.values()];
}
