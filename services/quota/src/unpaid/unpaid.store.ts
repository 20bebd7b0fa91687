import type { Database } from "@parley/service-kit";
import { TODAY, UNPAID_LIMIT } from "./unpaid-limit.ts";

export type WorkspaceUnpaid = { workspaceId: string; unpaid: number };

const LIST = `
  SELECT u.workspace_id AS "workspaceId", u.unpaid FROM quota.usage u
  WHERE u.unpaid_day = $1::date AND u.unpaid > 0 AND ($2 = '' OR u.workspace_id = $2) AND u.workspace_id > $3
  ORDER BY u.workspace_id LIMIT $4`;

/**
 * Lists at most `limit` workspaces with unpaid replies of the current UTC day, ordered by id, after the id `after`. If the workspace id is
 * not empty, lists only that workspace. Returns the day ("YYYY-MM-DD") too.
 */
export async function listUnpaid(
  database: Database,
  { workspaceId, after, limit }: { workspaceId: string; after: string; limit: number },
): Promise<{ workspaces: WorkspaceUnpaid[]; day: string }> {
  const { rows: days } = await database.query<{ day: string }>(`SELECT to_char(${TODAY}, 'YYYY-MM-DD') AS day`);
  const day = days[0]?.day ?? "";
  const { rows } = await database.query<WorkspaceUnpaid>({
    name: "list_unpaid",
    text: LIST,
    values: [day, workspaceId, after, limit],
  });
  return { workspaces: rows, day };
}

// The row may be missing after a restore of the database. Nothing is inserted for an unknown workspace.
const CORRECT = `
  INSERT INTO quota.usage AS u (workspace_id, month, unpaid_day, unpaid)
  SELECT w.workspace_id, date_trunc('month', $2::date)::date, $2::date, $4::integer
  FROM quota.workspaces w WHERE w.workspace_id = $1 AND $2::date = ${TODAY} AND $3::integer <> $4::integer
  ON CONFLICT (workspace_id, month) DO UPDATE
    SET unpaid = excluded.unpaid, unpaid_day = excluded.unpaid_day,
        unpaid_reset = CASE WHEN u.unpaid_day = excluded.unpaid_day THEN least(u.unpaid_reset, excluded.unpaid) ELSE 0 END
    WHERE CASE WHEN u.unpaid_day = excluded.unpaid_day THEN u.unpaid ELSE 0 END = $3::integer`;

/**
 * Sets the number of a workspace's unpaid replies of the current UTC day, if it still is `expected`. Returns whether it changed the number. A
 * settlement changes the number, so a number that was read before is then left alone.
 */
export async function correctUnpaid(
  database: Database,
  { workspaceId, day, expected, unpaid }: { workspaceId: string; day: string; expected: number; unpaid: number },
): Promise<boolean> {
  const { rowCount } = await database.query(CORRECT, [workspaceId, day, expected, unpaid]);
  return rowCount === 1;
}

/** Forgives the unpaid replies of the current UTC day: they no longer count towards the limit. */
export async function resetUnpaid(database: Database, workspaceId: string): Promise<void> {
  await database.query(
    `UPDATE quota.usage SET unpaid_reset = unpaid
     WHERE workspace_id = $1 AND month = date_trunc('month', ${TODAY})::date AND unpaid_day = ${TODAY}`,
    [workspaceId],
  );
}

/** The unpaid replies of the current UTC day, summed over the workspaces of one plan. */
export type PlanUnpaid = { plan: string; unpaid: number };

/** A workspace near its limit. `ratio` is its unpaid replies of the current UTC day, divided by the limit. */
export type NearUnpaidLimit = { workspaceId: string; plan: string; ratio: number };

const UNPAID_TODAY = `
  quota.usage u
  JOIN quota.workspaces w ON w.workspace_id = u.workspace_id AND w.deleted_at IS NULL
  JOIN quota.plans p ON p.plan = w.plan
  WHERE u.unpaid_day = ${TODAY}`;

const BY_PLAN = `
  SELECT p.plan, coalesce(today.unpaid, 0)::bigint AS unpaid
  FROM quota.plans p
  LEFT JOIN (SELECT p.plan, sum(u.unpaid) AS unpaid FROM ${UNPAID_TODAY} GROUP BY p.plan) today USING (plan)`;

const NEAR = `
  SELECT u.workspace_id AS "workspaceId", p.plan, (u.unpaid - u.unpaid_reset)::float8 / greatest(${UNPAID_LIMIT}, 1) AS ratio
  FROM ${UNPAID_TODAY} AND u.unpaid - u.unpaid_reset >= ${UNPAID_LIMIT} * $1::float8
  ORDER BY ratio DESC, u.workspace_id LIMIT $2`;

/** Returns the unpaid replies of every plan, and up to `limit` workspaces that have at least `share` of their limit, highest ratio first. */
export async function readUnpaidToday(
  database: Database,
  { share, limit }: { share: number; limit: number },
): Promise<{ plans: PlanUnpaid[]; nearWorkspaces: NearUnpaidLimit[] }> {
  const [plans, nearWorkspaces] = await Promise.all([
    database.query<PlanUnpaid>(BY_PLAN),
    database.query<NearUnpaidLimit>(NEAR, [share, limit]),
  ]);
  return { plans: plans.rows, nearWorkspaces: nearWorkspaces.rows };
}
