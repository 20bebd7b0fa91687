import { createServiceDatabase, type ServiceDatabase, type ServiceDatabaseOptions } from "@parley/service-kit/testing";
import { migrations } from "../../migrations/index.ts";
import { APPEND_ONLY_TABLES, ROLE_TIMEOUTS } from "../role.ts";
import { insertWorkspace } from "../workspaces/workspaces.store.ts";

export const ROLE = "parley_quota";
export const ROLE_PASSWORD = "quota-test";

export type QuotaDatabase = ServiceDatabase;

export function createQuotaDatabase(options?: ServiceDatabaseOptions): Promise<QuotaDatabase> {
  return createServiceDatabase(
    {
      schema: "quota",
      role: ROLE,
      rolePassword: ROLE_PASSWORD,
      roleTimeouts: ROLE_TIMEOUTS,
      appendOnlyTables: APPEND_ONLY_TABLES,
      migrations,
    },
    options,
  );
}

let workspaceCount = 0;

/** Creates a workspace on a plan of `cap` messages a month. */
export async function createWorkspace({ database, admin }: QuotaDatabase, cap: number): Promise<string> {
  const plan = `cap-${cap}`;
  await admin.query("INSERT INTO quota.plans VALUES ($1, $2) ON CONFLICT DO NOTHING", [plan, cap]);
  const id = `ws_${++workspaceCount}`;
  await insertWorkspace(database, id, id, plan);
  return id;
}

type WorkspaceUsage = {
  /** The counters of quota.usage. */
  usedCounter: number;
  heldCounter: number;
  /** The number of rows of the usage ledger. */
  ledgerRows: number;
  /** The number of reservations that are done, and that are held. */
  doneReservations: number;
  heldReservations: number;
};

/** Returns a workspace's usage over all months from each table that records it. */
export async function usageOf({ admin }: QuotaDatabase, workspaceId: string): Promise<WorkspaceUsage> {
  const { rows } = await admin.query<WorkspaceUsage>(
    `SELECT coalesce((SELECT sum(used) FROM quota.usage WHERE workspace_id = $1), 0)::integer AS "usedCounter",
            coalesce((SELECT sum(held) FROM quota.usage WHERE workspace_id = $1), 0)::integer AS "heldCounter",
            (SELECT count(*) FROM quota.ledger WHERE workspace_id = $1)::integer AS "ledgerRows",
            (SELECT count(*) FROM quota.reservations WHERE workspace_id = $1 AND state = 'done')::integer AS "doneReservations",
            (SELECT count(*) FROM quota.reservations WHERE workspace_id = $1 AND state = 'held')::integer AS "heldReservations"`,
    [workspaceId],
  );
  const [usage] = rows;
  if (usage === undefined) throw new Error("the usage query returned no row");
  return usage;
}
