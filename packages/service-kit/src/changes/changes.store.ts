import type { Database, Queryable } from "../database/database.ts";
import type { Reload } from "../settings/secrets.ts";

/** A line of the audit log. `member` is undefined if the operator made the change. */
export type Change = {
  workspaceId: string;
  member: string | undefined;
  method: string;
  /** Names, ids and settings from the request and the response, such as `slug` or `plan`. */
  target: Readonly<Record<string, string>>;
  changedFields: readonly string[];
};

export type RecordedChange = Omit<Change, "member"> & { changeId: string; changedAt: Date; member: string | null };

/** The schemas that have an audit log. */
export type ChangesSchema = "conversation" | "llm" | "quota";

const RELOAD_METHOD = "Configuration/Reload";
/** Bounds the rows of files that change all the time. The service's own log still has every reload. */
const MAX_RELOADS_PER_DAY = 100;

export async function insertChange(database: Queryable, schema: ChangesSchema, change: Change): Promise<void> {
  const { workspaceId, member, method, target, changedFields } = change;
  await database.query(
    `INSERT INTO ${schema}.changes (workspace_id, member, method, target, changed_fields) VALUES ($1, $2, $3, $4, $5)`,
    [workspaceId, member ?? null, method, target, changedFields],
  );
}

/**
 * Adds a line for a reload, unless the last minute has the same line, such as another replica's, or the last day has too many. Replicas that call
 * this at the same time may each add a line.
 */
export async function insertReload(database: Queryable, schema: ChangesSchema, reload: Reload): Promise<void> {
  await database.query(
    `INSERT INTO ${schema}.changes (workspace_id, method, target, changed_fields)
     SELECT '', $1, $2::jsonb, '{}'
     WHERE (SELECT count(*) FILTER (WHERE changed_at >= now() - interval '1 minute' AND target = $2::jsonb) = 0 AND count(*) < $3
            FROM ${schema}.changes
            WHERE workspace_id = '' AND method = $1 AND changed_at >= now() - interval '1 day')`,
    [RELOAD_METHOD, reload, MAX_RELOADS_PER_DAY],
  );
}

/** The position of a line in the list of all workspaces' lines. `changedAt` is RFC 3339 in UTC with microseconds. */
export type ChangePosition = { changedAt: string; changeId: string };

/** Lists the lines of all workspaces since a time (by default of the last 24 hours), newest first. `before` is the position of the previous page's last line. */
export async function selectAllChanges(
  database: Database,
  schema: ChangesSchema,
  { since, before, limit }: { since: string | undefined; before: ChangePosition | undefined; limit: number },
): Promise<(RecordedChange & { position: string })[]> {
  const { rows } = await database.query<RecordedChange & { position: string }>(
    `SELECT workspace_id AS "workspaceId", change_id::text AS "changeId", changed_at AS "changedAt", member, method, target,
            changed_fields AS "changedFields", to_char(changed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS position
     FROM ${schema}.changes
     WHERE changed_at >= coalesce($1::timestamptz, now() - interval '1 day') AND ($2::timestamptz IS NULL OR (changed_at, change_id) < ($2::timestamptz, $3::bigint))
     ORDER BY changed_at DESC, change_id DESC LIMIT $4`,
    [since ?? null, before?.changedAt ?? null, before?.changeId ?? null, limit],
  );
  return rows;
}

/** Lists a workspace's lines, newest first. `before` is the last change_id of the previous page. */
export async function selectChanges(
  database: Database,
  schema: ChangesSchema,
  { workspaceId, before, limit }: { workspaceId: string; before: string | undefined; limit: number },
): Promise<RecordedChange[]> {
  const { rows } = await database.query<RecordedChange>(
    `SELECT workspace_id AS "workspaceId", change_id::text AS "changeId", changed_at AS "changedAt", member, method, target,
            changed_fields AS "changedFields"
     FROM ${schema}.changes
     WHERE workspace_id = $1 AND ($2::bigint IS NULL OR change_id < $2::bigint)
     ORDER BY change_id DESC LIMIT $3`,
    [workspaceId, before ?? null, limit],
  );
  return rows;
}

/** Deletes the lines that are older than 400 days. */
export async function deleteExpiredChanges(database: Database, schema: ChangesSchema): Promise<void> {
  await database.query(`SELECT ${schema}.delete_expired_changes()`);
}
