import type { Counter } from "prom-client";
import { type Database, sqlState } from "../database/database.ts";
import { invalidArgument, ServiceError } from "../errors.ts";
import { isWorkspaceId } from "../ids.ts";
import { isUtcTime } from "../page-position.ts";
import type { Lifecycle } from "../process/lifecycle.ts";
import { describeError, type Logger } from "../process/logger.ts";
import { runPeriodically } from "../process/periodic.ts";
import type { Reload } from "../settings/secrets.ts";
import {
  type Change,
  type ChangePosition,
  type ChangesSchema,
  deleteExpiredChanges,
  insertChange,
  insertReload,
  type RecordedChange,
  selectAllChanges,
  selectChanges,
} from "./changes.store.ts";

const DEFAULT_PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 500;
/** A page token of ListChanges is the change_id of the previous page's last line. */
const CHANGE_ID = /^\d{1,18}$/;
const DELETE_INTERVAL_MS = 60 * 60_000;

type PageRequest = { pageSize: number; pageToken: string };
type ListRequest = PageRequest & { workspaceId: string };
type ListAllRequest = PageRequest & { since: string };
type ListResponse = { changes: ListedChange[]; nextPageToken: string };

/** The audit log of a service. */
export type ChangeLog = {
  /** Adds a line to the audit log. If the database fails, writes the change to the service's own log and throws change_not_recorded. */
  record(change: Change): Promise<void>;
  /** Adds a line for a reload in the background, or logs why it cannot. The number of lines is bounded: see insertReload. */
  recordReload(reload: Reload): void;
  /** Implements ChangeAdminService/ListChanges. */
  listChanges(request: ListRequest): Promise<ListResponse>;
  /** Implements ChangeAdminService/ListAllChanges. */
  listAllChanges(request: ListAllRequest): Promise<ListResponse>;
};

type ListedChange = {
  workspaceId: string;
  changedAt: string;
  member: string;
  method: string;
  target: Record<string, string>;
  changedFields: string[];
};

/** Opens the audit log in a service's schema, and deletes the log's expired lines every hour. */
export function openChangeLog(
  database: Database,
  schema: ChangesSchema,
  counter: Counter<"kind">,
  log: Logger,
  lifecycle: Lifecycle,
): ChangeLog {
  const run = () => deleteExpiredChanges(database, schema);
  runPeriodically({ name: "delete expired changes", intervalMs: DELETE_INTERVAL_MS, run }, log, lifecycle);
  return {
    async record(change) {
      try {
        await insertChange(database, schema, change);
        counter.inc({ kind: "call" });
      } catch (cause) {
        const { workspaceId, member, method, target, changedFields } = change;
        const fields = { workspace_id: workspaceId, member, method, target, changed_fields: changedFields };
        // Not in the field `error`, because the log summarises repeated errors, and this line replaces the change's row.
        log.error({ ...fields, sql_state: sqlState(cause), failure: describeError(cause) }, "change not recorded");
        throw new ServiceError("unavailable", "change_not_recorded", "the change was made but not recorded", { cause });
      }
    },
    recordReload(reload) {
      counter.inc({ kind: "reload" });
      insertReload(database, schema, reload).catch((error: unknown) => {
        log.warn({ ...reload, error }, "reload not recorded");
      });
    },
    async listChanges({ workspaceId, pageSize, pageToken }) {
      requirePageSize(pageSize);
      if (pageToken !== "" && !CHANGE_ID.test(pageToken)) throw invalidArgument("page_token is invalid");
      if (workspaceId !== "" && !isWorkspaceId(workspaceId)) return { changes: [], nextPageToken: "" };
      const limit = pageSize || DEFAULT_PAGE_SIZE;
      const rows = await selectChanges(database, schema, { workspaceId, before: pageToken || undefined, limit });
      return { changes: rows.map(toListed), nextPageToken: rows.length === limit ? (rows.at(-1)?.changeId ?? "") : "" };
    },
    async listAllChanges({ since, pageSize, pageToken }) {
      requirePageSize(pageSize);
      if (since !== "" && !isUtcTime(since)) throw invalidArgument("since must be an RFC 3339 time in UTC");
      const limit = pageSize || DEFAULT_PAGE_SIZE;
      const rows = await selectAllChanges(database, schema, {
        since: since || undefined,
        before: parsePosition(pageToken),
        limit,
      });
      const last = rows.length === limit ? rows.at(-1) : undefined;
      return {
        changes: rows.map(toListed),
        nextPageToken: last === undefined ? "" : `${last.position} ${last.changeId}`,
      };
    },
  };
}

function requirePageSize(pageSize: number): void {
  if (pageSize < 0 || pageSize > MAX_PAGE_SIZE) throw invalidArgument(`page_size must be from 0 to ${MAX_PAGE_SIZE}`);
}

/** Parses a page token of ListAllChanges. */
function parsePosition(token: string): ChangePosition | undefined {
  if (token === "") return undefined;
  const [changedAt = "", changeId = "", ...rest] = token.split(" ");
  if (!isUtcTime(changedAt) || !CHANGE_ID.test(changeId) || rest.length > 0)
    throw invalidArgument("page_token is invalid");
  return { changedAt, changeId };
}

function toListed({ workspaceId, changedAt, member, method, target, changedFields }: RecordedChange): ListedChange {
  return {
    workspaceId,
    changedAt: changedAt.toISOString(),
    member: member ?? "",
    method,
    target: { ...target },
    changedFields: [...changedFields],
  };
}
