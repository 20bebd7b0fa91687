import type { Database, Queryable } from "../database/database.ts";

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
export type ChangesSchema = "conversation" | "quota";

export async function insertChange(database: Queryable, schema: ChangesSchema, change: Change): Promise<void> {
  const { workspaceId, member, method, target, changedFields } = change;
  await database.query(
    `INSERT INTO ${schema}.changes (workspace_id, member, method, target, changed_fields) VALUES ($1, $2, $3, $4, $5)`,
    [workspaceId, member ?? null, method, target, changedFields],
  );
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
