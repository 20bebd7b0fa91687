import type { Database, Queryable } from "../database/database.ts";
import type { Reload } from "../settings/secrets.ts";

/** An entry of the audit log. `member` is undefined if the operator made the change. */
export type AuditLogEntry = {
  workspaceId: string;
  member: string | undefined;
  method: string;
  /** Names, ids and settings from the request and the response, such as `slug` or `plan`. */
  target: Readonly<Record<string, string>>;
  changedFields: readonly string[];
};

export type StoredEntry = Omit<AuditLogEntry, "member"> & { entryId: string; changedAt: Date; member: string | null };

/** The schemas that have an audit log. */
export type SchemaWithAuditLog = "conversation" | "llm" | "quota";

const RELOAD_METHOD = "Configuration/Reload";
/** Bounds the rows of files that change all the time. The service's own log still has every reload. */
const MAX_RELOADS_PER_DAY = 100;

export async function insertEntry(
  database: Queryable,
  schema: SchemaWithAuditLog,
  entry: AuditLogEntry,
): Promise<void> {
  const { workspaceId, member, method, target, changedFields } = entry;
  await database.query(
    `INSERT INTO ${schema}.audit_log (workspace_id, member, method, target, changed_fields) VALUES ($1, $2, $3, $4, $5)`,
    [workspaceId, member ?? null, method, target, changedFields],
  );
}

/**
 * Adds an entry for a reload, unless the last minute has the same entry, such as another replica's, or the last day has too many. Replicas that call
 * this at the same time may each add an entry.
 */
export async function insertReload(database: Queryable, schema: SchemaWithAuditLog, reload: Reload): Promise<void> {
  await database.query(
    `INSERT INTO ${schema}.audit_log (workspace_id, method, target, changed_fields)
     SELECT '', $1, $2::jsonb, '{}'
     WHERE (SELECT count(*) FILTER (WHERE changed_at >= now() - interval '1 minute' AND target = $2::jsonb) = 0 AND count(*) < $3
            FROM ${schema}.audit_log
            WHERE workspace_id = '' AND method = $1 AND changed_at >= now() - interval '1 day')`,
    [RELOAD_METHOD, reload, MAX_RELOADS_PER_DAY],
  );
}

/** The position of an entry in the list of all workspaces' entries. `position` is `changed_at`, RFC 3339 in UTC with microseconds. */
export type EntryPosition = { position: string; entryId: string };

/** Lists the entries of all workspaces since a time (by default of the last 24 hours), newest first. `before` is the position of the previous page's last entry. */
export async function selectAllEntries(
  database: Database,
  schema: SchemaWithAuditLog,
  { since, before, limit }: { since: string | undefined; before: EntryPosition | undefined; limit: number },
): Promise<(StoredEntry & EntryPosition)[]> {
  const { rows } = await database.query<StoredEntry & EntryPosition>(
    `SELECT workspace_id AS "workspaceId", entry_id::text AS "entryId", changed_at AS "changedAt", member, method, target,
            changed_fields AS "changedFields", to_char(changed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') AS position
     FROM ${schema}.audit_log
     WHERE changed_at >= coalesce($1::timestamptz, now() - interval '1 day') AND ($2::timestamptz IS NULL OR (changed_at, entry_id) < ($2::timestamptz, $3::bigint))
     ORDER BY changed_at DESC, entry_id DESC LIMIT $4`,
    [since ?? null, before?.position ?? null, before?.entryId ?? null, limit],
  );
  return rows;
}

/** Lists a workspace's entries, newest first. `before` is the last entry_id of the previous page. */
export async function selectEntries(
  database: Database,
  schema: SchemaWithAuditLog,
  { workspaceId, before, limit }: { workspaceId: string; before: string | undefined; limit: number },
): Promise<StoredEntry[]> {
  const { rows } = await database.query<StoredEntry>(
    `SELECT workspace_id AS "workspaceId", entry_id::text AS "entryId", changed_at AS "changedAt", member, method, target,
            changed_fields AS "changedFields"
     FROM ${schema}.audit_log
     WHERE workspace_id = $1 AND ($2::bigint IS NULL OR entry_id < $2::bigint)
     ORDER BY entry_id DESC LIMIT $3`,
    [workspaceId, before ?? null, limit],
  );
  return rows;
}

/** Deletes the entries that are older than 400 days. */
export async function deleteExpiredEntries(database: Database, schema: SchemaWithAuditLog): Promise<void> {
  await database.query(`SELECT ${schema}.delete_expired_audit_log_entries()`);
}
