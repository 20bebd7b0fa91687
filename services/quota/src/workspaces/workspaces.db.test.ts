import { afterAll, beforeAll, expect, test } from "vitest";
import { createQuotaDatabase, createWorkspace, type QuotaDatabase } from "../testing/quota-database.ts";
import { updatePlan } from "./workspaces.store.ts";

let quota: QuotaDatabase;
beforeAll(async () => {
  quota = await createQuotaDatabase();
});
afterAll(() => quota.drop());

test("each of several concurrent plan changes stores its previous plan", async () => {
  const workspace = await createWorkspace(quota, 40);
  const plans = await Promise.all([41, 42, 43, 44].map((cap) => createWorkspace(quota, cap).then(() => `cap-${cap}`)));
  await Promise.all(plans.map((plan) => updatePlan(quota.database, workspace, plan)));
  const { rows } = await quota.admin.query<{ previous_plan: string; plan: string }>(
    "SELECT previous_plan, plan FROM quota.plan_changes WHERE workspace_id = $1",
    [workspace],
  );
  const next = new Map(rows.map((row) => [row.previous_plan, row.plan]));
  const chain: string[] = [];
  for (let plan = next.get("cap-40"); plan !== undefined; plan = next.get(plan)) chain.push(plan);
  expect(new Set(chain)).toEqual(new Set(plans));
});
