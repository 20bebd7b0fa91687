import { type Database, sqlState } from "../database/database.ts";
import { invalidArgument, ServiceError } from "../errors.ts";
import { isWorkspaceId } from "../ids.ts";
import type { Lifecycle } from "../process/lifecycle.ts";
import { describeError, type Logger } from "../process/logger.ts";
import { runPeriodically } from "../process/periodic.ts";
import { type Change, type ChangesSchema, deleteExpiredChanges, insertChange, selectChanges } from "./changes.store.ts";

const DEFAULT_PAGE_SIZE = 50;
const MAX_PAGE_SIZE = 500;
/** A page token is the change_id of the previous page's last line. */
const CHANGE_ID = /^\d{1,18}$/;
const DELETE_INTERVAL_MS = 60 * 60_000;

type ListRequest = { workspaceId: string; pageSize: number; pageToken: string };

/** The audit log of a service. */
export type ChangeLog = {
  /** Adds a line to the audit log. If the database fails, writes the change to the service's own log and throws change_not_recorded. */
  record(change: Change): Promise<void>;
  /** Implements ChangeAdminService/ListChanges. */
  listChanges(request: ListRequest): Promise<{ changes: ListedChange[]; nextPageToken: string }>;
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
export function openChangeLog(database: Database, schema: ChangesSchema, log: Logger, lifecycle: Lifecycle): ChangeLog {
  const run = () => deleteExpiredChanges(database, schema);
  runPeriodically({ name: "delete expired changes", intervalMs: DELETE_INTERVAL_MS, run }, log, lifecycle);
  return {
    async record(change) {
      try {
        await insertChange(database, schema, change);
      } catch (cause) {
        const { workspaceId, member, method, target, changedFields } = change;
        const fields = { workspace_id: workspaceId, member, method, target, changed_fields: changedFields };
        // Not in the field `error`, because the log summarises repeated errors, and this line replaces the change's row.
        log.error({ ...fields, sql_state: sqlState(cause), failure: describeError(cause) }, "change not recorded");
        throw new ServiceError("unavailable", "change_not_recorded", "the change was made but not recorded", { cause });
      }
    },
    async listChanges({ workspaceId, pageSize, pageToken }) {
      if (pageSize < 0 || pageSize > MAX_PAGE_SIZE)
        throw invalidArgument(`page_size must be from 0 to ${MAX_PAGE_SIZE}`);
      if (pageToken !== "" && !CHANGE_ID.test(pageToken)) throw invalidArgument("page_token is invalid");
      if (workspaceId !== "" && !isWorkspaceId(workspaceId)) return { changes: [], nextPageToken: "" };
      const limit = pageSize || DEFAULT_PAGE_SIZE;
      const rows = await selectChanges(database, schema, { workspaceId, before: pageToken || undefined, limit });
      return {
        changes: rows.map(({ changedAt, member, target, changedFields, method, workspaceId: id }) => ({
          workspaceId: id,
          changedAt: changedAt.toISOString(),
          member: member ?? "",
          method,
          target: { ...target },
          changedFields: [...changedFields],
        })),
        nextPageToken: rows.length === limit ? (rows.at(-1)?.changeId ?? "") : "",
      };
    },
  };
}
