import { isUtcTime, isWorkspaceId } from "@parley/rpc/formats";
import type { Counter } from "prom-client";
import { type Queryable, sqlState } from "../database/database.ts";
import { onEachShard } from "../database/shard-lists.ts";
import { requireShard, type Shard, type ShardedDatabase } from "../database/shards.ts";
import { ServiceError } from "../errors.ts";
import { createPageTokens, cutPage } from "../pages.ts";
import type { Lifecycle } from "../process/lifecycle.ts";
import { describeError, type Logger } from "../process/logger.ts";
import { runOnShards } from "../process/run-on-shards.ts";
import type { Reload } from "../settings/secrets.ts";
import {
  type AuditLogEntry,
  deleteExpiredEntries,
  type EntryPosition,
  insertEntry,
  insertReload,
  type SchemaWithAuditLog,
  type StoredEntry,
  selectAllEntries,
  selectEntries,
} from "./audit-log.store.ts";

const DEFAULT_PAGE_SIZE = 50;
const isEntryId = (text: string) => /^\d{1,18}$/.test(text);
const pageTokens = createPageTokens({ entryId: isEntryId });
const pageTokensOfAll = createPageTokens({ position: isUtcTime, entryId: isEntryId });
const DELETE_INTERVAL_MS = 60 * 60_000;

type PageRequest = { pageSize: number; pageToken: string };
type ListRequest = PageRequest & { workspaceId: string };
type ListAllRequest = PageRequest & { since: string };
type ListResponse = { entries: ListedEntry[]; nextPageToken: string };

/** The audit log of a service. */
export type AuditLog = {
  /** Adds an entry to the audit log. If the database fails, writes the change to the service's own log and throws change_not_recorded. */
  record(entry: AuditLogEntry): Promise<void>;
  /** Adds an entry to the audit log in the transaction of the change. */
  recordIn(transaction: Queryable, entry: AuditLogEntry): Promise<void>;
  /** Adds an entry for a reload in the background, or logs why it cannot. The number of entries is bounded: see insertReload. */
  recordReload(reload: Reload): void;
  /** Implements AuditLogAdminService/ListAuditLogEntries. */
  listAuditLogEntries(request: ListRequest): Promise<ListResponse>;
  /** Implements AuditLogAdminService/ListAllAuditLogEntries. */
  listAllAuditLogEntries(request: ListAllRequest): Promise<ListResponse>;
};

type ListedEntry = {
  workspaceId: string;
  changedAt: string;
  member: string;
  method: string;
  target: Record<string, string>;
  changedFields: string[];
};

/**
 * Opens the audit log in a service's schema, and deletes the log's expired entries every hour. An entry is on its workspace's shard. The first shard
 * has the entries that concern no workspace.
 */
export function openAuditLog(
  { database, shards }: ShardedDatabase,
  schema: SchemaWithAuditLog,
  counter: Counter<"kind">,
  log: Logger,
  lifecycle: Lifecycle,
): AuditLog {
  const deletion = {
    name: "delete expired audit log entries",
    intervalMs: DELETE_INTERVAL_MS,
    run: ({ database: each }: Shard) => deleteExpiredEntries(each, schema),
  };
  runOnShards(shards, deletion, log, lifecycle);
  const first = requireShard(shards, 0).database;
  const databaseOf = (workspaceId: string) => (workspaceId === "" ? first : database);
  const recordIn = async (transaction: Queryable, entry: AuditLogEntry) => {
    await insertEntry(transaction, schema, entry);
    counter.inc({ kind: "call" });
  };
  return {
    recordIn,
    async record(entry) {
      try {
        await recordIn(databaseOf(entry.workspaceId), entry);
      } catch (cause) {
        const { workspaceId, member, method, target, changedFields } = entry;
        const fields = { workspace_id: workspaceId, member, method, target, changed_fields: changedFields };
        // Not in the field `error`, because the log summarises repeated errors, and this line replaces the change's entry.
        log.error({ ...fields, sql_state: sqlState(cause), failure: describeError(cause) }, "change not recorded");
        throw new ServiceError("unavailable", "change_not_recorded", "the change was made but not recorded", { cause });
      }
    },
    recordReload(reload) {
      counter.inc({ kind: "reload" });
      insertReload(first, schema, reload).catch((error: unknown) => {
        log.warn({ ...reload, error }, "reload not recorded");
      });
    },
    async listAuditLogEntries({ workspaceId, pageSize, pageToken }) {
      const before = pageTokens.parse(pageToken)?.entryId;
      if (workspaceId !== "" && !isWorkspaceId(workspaceId)) return { entries: [], nextPageToken: "" };
      const size = pageSize || DEFAULT_PAGE_SIZE;
      const rows = await selectEntries(databaseOf(workspaceId), schema, { workspaceId, before, limit: size + 1 });
      const { page, last } = cutPage(rows, size);
      return { entries: page.map(toListed), nextPageToken: pageTokens.format(last) };
    },
    async listAllAuditLogEntries({ since, pageSize, pageToken }) {
      const size = pageSize || DEFAULT_PAGE_SIZE;
      const before = pageTokensOfAll.parse(pageToken);
      const options = { since: since || undefined, before, limit: size + 1 };
      const lists = await onEachShard(shards, (database) => selectAllEntries(database, schema, options));
      const { page, last } = cutPage(lists.flat().sort(compareNewestFirst), size);
      return { entries: page.map(toListed), nextPageToken: pageTokensOfAll.format(last) };
    },
  };
}

/** The order of selectAllEntries. */
function compareNewestFirst(a: EntryPosition, b: EntryPosition): number {
  if (a.position !== b.position) return a.position < b.position ? 1 : -1;
  return Number(b.entryId) - Number(a.entryId);
}

function toListed({ workspaceId, changedAt, member, method, target, changedFields }: StoredEntry): ListedEntry {
  return {
    workspaceId,
    changedAt: changedAt.toISOString(),
    member: member ?? "",
    method,
    target: { ...target },
    changedFields: [...changedFields],
  };
}
