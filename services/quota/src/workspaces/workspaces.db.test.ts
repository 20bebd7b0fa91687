import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  AdjustTurnsRequestSchema,
  AdjustUsageRequestSchema,
  CreateWorkspaceRequestSchema,
  SettleOutcome,
} from "@parley/rpc/quota";
import { afterAll, beforeAll, expect, test } from "vitest";
import { handleAdjustTurns } from "../reconciliation/adjust-turns.rpc.ts";
import { createQuotaDatabase, createWorkspace, type QuotaDatabase } from "../testing/quota-database.ts";
import { createWorkspaceAdmin } from "./workspaces.admin.ts";
import { updatePlan } from "./workspaces.store.ts";

let quota: QuotaDatabase;
beforeAll(async () => {
  quota = await createQuotaDatabase();
});
afterAll(() => quota.drop());

test("each of several concurrent plan changes stores its previous plan", async () => {
  const workspace = await createWorkspace(quota, 40);
  // createWorkspace also creates the plan cap-<cap>.
  const plans = await Promise.all([41, 42, 43, 44].map((cap) => createWorkspace(quota, cap).then(() => `cap-${cap}`)));
  await Promise.all(plans.map((plan) => updatePlan(quota.database, workspace, plan)));
  const { rows } = await quota.admin.query<{ previous_plan: string; plan: string }>(
    "SELECT previous_plan, plan FROM quota.plan_changes WHERE workspace_id = $1",
    [workspace],
  );
  const planAfter = new Map(rows.map((row) => [row.previous_plan, row.plan]));
  const chain: string[] = [];
  for (let plan = planAfter.get("cap-40"); plan !== undefined; plan = planAfter.get(plan)) chain.push(plan);
  expect(new Set(chain)).toEqual(new Set(plans));
});

test("names, reasons and operators have at most 200 characters, counted as Unicode code points", async () => {
  const admin = createWorkspaceAdmin(quota.database, randomUUID);
  const context = {} as HandlerContext;
  const createNamed = (name: string) =>
    admin.createWorkspace(create(CreateWorkspaceRequestSchema, { id: "named", name, plan: "free" }), context);
  const adjust = (reason: string, operator: string) => {
    const month = new Date().toISOString().slice(0, 7);
    const adjustment = { workspaceId: "named", month, amount: 1, reason, operator, requestId: randomUUID() };
    return admin.adjustUsage(create(AdjustUsageRequestSchema, adjustment), context);
  };
  const log = { warn: () => undefined };
  const adjustTurns = (reason: string) => {
    const request = create(AdjustTurnsRequestSchema, { turns: [], outcome: SettleOutcome.VOID, reason });
    return handleAdjustTurns({ database: quota.database, log }, request);
  };
  const [longest, tooLong] = ["😀".repeat(200), "😀".repeat(201)];
  expect(await createNamed(longest)).toMatchObject({ workspace: { name: longest } });
  expect(await adjust(longest, longest)).toMatchObject({ adjustment: { reason: longest, operator: longest } });
  expect(await adjustTurns(longest)).toEqual({ adjusted: [] });

  const refused = { message: expect.stringContaining("1 to 200 characters") };
  await expect(createNamed(tooLong)).rejects.toMatchObject(refused);
  await expect(adjust(tooLong, "ada")).rejects.toMatchObject(refused);
  await expect(adjust("outage", tooLong)).rejects.toMatchObject(refused);
  await expect(adjustTurns(tooLong)).rejects.toMatchObject(refused);
});
