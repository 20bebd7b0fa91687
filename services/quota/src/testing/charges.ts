import { randomUUID } from "node:crypto";
import { insertWorkspace } from "../workspaces/workspaces.store.ts";
import type { QuotaDatabase } from "./quota-database.ts";

/** Creates a workspace on a plan with `cap` messages a month and `overage` messages beyond them. */
export async function createChargedWorkspace(
  { database, admin }: QuotaDatabase,
  { cap, overage }: { cap: number; overage: number },
): Promise<string> {
  const plan = `cap-${cap}-${overage}`;
  await admin.query(
    "INSERT INTO quota.plans (plan, monthly_cap, monthly_overage) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
    [plan, cap, overage],
  );
  const id = `ws_${randomUUID()}`;
  await insertWorkspace(database, id, id, plan);
  return id;
}

type Charges = { plan: number; credit: number; overage: number; done: number; differs: boolean };

/**
 * Returns how many held and counted messages of all months are charged to what, the number of counted messages, and whether the usage audit would
 * find a difference between the charges.
 */
export async function chargesOf({ admin }: QuotaDatabase, workspaceId: string): Promise<Charges> {
  const { rows } = await admin.query<Charges>(
    `SELECT (SELECT count(*) FROM quota.reservations r WHERE r.workspace_id = $1 AND state <> 'void' AND charge IS NULL)::integer AS plan,
            sum(credit_used + credit_held)::integer AS credit, sum(overage_used + overage_held)::integer AS overage,
            sum(used)::integer AS done,
            bool_or(quota.charges_differ(workspace_id, month, false)) AS differs
     FROM quota.usage WHERE workspace_id = $1`,
    [workspaceId],
  );
  const [charges] = rows;
  if (charges === undefined) throw new Error("the charges query returned no row");
  return charges;
}
