import { type Database, defineStatement, MAX_GENERATION_MS } from "@parley/service-kit";
import {
  type ClosedTurn,
  LONGEST_TRANSACTION_SECONDS,
  RECORD_CLOSED_TURNS,
  RECORD_CLOSED_TURNS_FOR_EDGE,
  SELECT_CLOSED_TURNS,
  WITHOUT_REPLY,
} from "../turns/index.ts";

/** Longer than any turn can run: a generation, and a minute to open and close the turn. */
const MAX_TURN_SECONDS = MAX_GENERATION_MS / 1_000 + 60;

export type SweepOptions = {
  leaseSeconds: number;
  databaseRespondedAt: string;
  graceSeconds: number;
  limit: number;
  openedSince?: string | undefined;
};

// `closed` finds its turns by their ids instead of their status, for the reason given at closeTurnSql in close-turn.store.ts. Because of its
// ORDER BY, `lapsed` reads the index turns_streaming_opened within the bounds on opened_at, even while PostgreSQL's statistics say that no turn is
// streaming.
const sweepStatement = defineStatement<SweepOptions & { maxTurnSeconds: number }>(
  "sweep",
  `
  WITH lapsed AS (
    SELECT t.workspace_id, t.turn_id
    FROM conversation.turns t
    WHERE t.status = 'streaming'
      AND t.opened_at < now() - make_interval(secs => :leaseSeconds)
      AND (t.opened_at < now() - make_interval(secs => :maxTurnSeconds)
           OR NOT EXISTS (SELECT FROM conversation.edges e WHERE e.edge_id = t.edge_id AND e.expires_at > now()))
      AND :databaseRespondedAt::timestamptz > now() - make_interval(secs => :graceSeconds)
      AND t.opened_at >= :openedSince::timestamptz
    ORDER BY t.opened_at
    LIMIT :limit
    FOR UPDATE OF t SKIP LOCKED
  ), closed AS (
    UPDATE conversation.turns t SET status = 'interrupted', closed_at = now()
    FROM lapsed
    WHERE t.workspace_id = lapsed.workspace_id AND t.turn_id = lapsed.turn_id AND t.closed_at IS NULL
    RETURNING t.*, ${WITHOUT_REPLY}
  ), ${RECORD_CLOSED_TURNS}, ${RECORD_CLOSED_TURNS_FOR_EDGE}
  ${SELECT_CLOSED_TURNS}`,
);

/**
 * Closes up to `limit` turns as interrupted: turns that are older than `leaseSeconds` and whose edge has no current lease, and turns that are
 * older than MAX_TURN_SECONDS. `databaseRespondedAt` is the time of the database's last response, by the database's clock. If it is more than
 * `graceSeconds` ago, the sweep does nothing, because edges may have been unable to renew their leases. Turns that were opened before
 * `openedSince` are not read.
 */
export async function sweep(database: Database, options: SweepOptions): Promise<ClosedTurn[]> {
  const openedSince = options.openedSince ?? "-infinity";
  const statement = sweepStatement({ ...options, openedSince, maxTurnSeconds: MAX_TURN_SECONDS });
  return (await database.query<ClosedTurn>(statement)).rows;
}

const READ_SWEEP_MARK = `
  SELECT least(min(opened_at), now() - make_interval(secs => $2))::text AS mark
  FROM conversation.turns WHERE status = 'streaming' AND opened_at >= $1::timestamptz`;

/**
 * Returns a time from which the next reads may start (see QueueReadStart): every streaming turn was opened at this time or later, including turns
 * that are not committed yet. Ignores turns that were opened before `openedSince`.
 */
export async function readSweepMark(database: Database, openedSince = "-infinity"): Promise<string> {
  const { rows } = await database.query<{ mark: string }>({
    name: "read_sweep_mark",
    text: READ_SWEEP_MARK,
    values: [openedSince, LONGEST_TRANSACTION_SECONDS],
  });
  return rows[0]?.mark ?? "-infinity";
}

/** Returns the database's time and the seconds since `since`, the `now` of an earlier call; infinity if `since` is undefined. */
export async function readClock(
  database: Database,
  since: string | undefined,
): Promise<{ now: string; seconds: number }> {
  const { rows } = await database.query<{ now: string; seconds: number | null }>(
    "SELECT now()::text AS now, extract(epoch FROM now() - $1::timestamptz)::float8 AS seconds",
    [since],
  );
  const { now = "", seconds = null } = rows[0] ?? {};
  return { now, seconds: seconds ?? Number.POSITIVE_INFINITY };
}
