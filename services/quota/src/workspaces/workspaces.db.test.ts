import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  AdjustTurnsRequestSchema,
  AdjustUsageRequestSchema,
  CreateWorkspaceRequestSchema,
  ListPlansRequestSchema,
  ListRetentionsRequestSchema,
  SetKnowledgeLimitsRequestSchema,
  SetRetentionRequestSchema,
  SettleOutcome,
  ShowUsageRequestSchema,
} from "@parley/rpc/quota";
import { singleShard } from "@parley/service-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { handleAdjustTurns } from "../reconciliation/adjust-turns.rpc.ts";
import { createQuotaDatabase, createWorkspace, type QuotaDatabase } from "../testing/quota-database.ts";
import { handleListRetentions } from "./list-retentions.rpc.ts";
import { createWorkspaceAdmin } from "./workspaces.admin.ts";
import { updateDeleted, updatePlan } from "./workspaces.store.ts";

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

test("stores names, reasons and operators of 200 Unicode code points", async () => {
  const admin = createWorkspaceAdmin(singleShard(quota.database), randomUUID);
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
    return handleAdjustTurns({ ...singleShard(quota.database), log }, request);
  };
  const longest = "😀".repeat(200);
  expect(await createNamed(longest)).toMatchObject({ workspace: { name: longest } });
  expect(await adjust(longest, longest)).toMatchObject({ adjustment: { reason: longest, operator: longest } });
  expect(await adjustTurns(longest)).toEqual({ adjusted: [] });
});

test("operators list the plans and change how much knowledge a plan permits", async () => {
  const admin = createWorkspaceAdmin(singleShard(quota.database), randomUUID);
  const context = {} as HandlerContext;
  const set = (fields: object) =>
    admin.setKnowledgeLimits(create(SetKnowledgeLimitsRequestSchema, { plan: "free", ...fields }), context);
  const limits = { name: "free", cap: 100, overage: 0, knowledgeDocuments: 500, knowledgeCharacters: 10_000_000 };
  expect(await admin.listPlans(create(ListPlansRequestSchema), context)).toMatchObject({
    plans: expect.arrayContaining([limits, expect.objectContaining({ name: "pro", knowledgeDocuments: 2_000 })]),
  });
  expect(await set({ knowledgeDocuments: 7 })).toEqual({ plan: { ...limits, knowledgeDocuments: 7 } });
  expect(await set({ knowledgeCharacters: 0 })).toMatchObject({
    plan: { knowledgeDocuments: 7, knowledgeCharacters: 0 },
  });
  const workspace = { name: "n", plan: "free", id: "limited" };
  expect(await admin.createWorkspace(create(CreateWorkspaceRequestSchema, workspace), context)).toMatchObject({
    workspace: { maxKnowledgeDocuments: 7, maxKnowledgeCharacters: 0 },
  });
  for (const plan of ["gold", "", "a\0b"]) await expect(set({ plan })).rejects.toThrow("plan must be one of");
  await set({ knowledgeDocuments: 500, knowledgeCharacters: 10_000_000 });
});

test("lists the workspaces with a retention in a range page by page, shortest first, without deleted ones", async () => {
  const admin = createWorkspaceAdmin(singleShard(quota.database), randomUUID);
  const context = {} as HandlerContext;
  const retentions = { kept: 0, days: 43_200, gone: 30, short: 30, shorter: 10, "short-too": 30 };
  for (const [id, retentionMinutes] of Object.entries(retentions)) {
    await admin.createWorkspace(create(CreateWorkspaceRequestSchema, { name: "n", plan: "free", id }), context);
    const request = create(SetRetentionRequestSchema, { workspaceId: id, retentionMinutes });
    expect(await admin.setRetention(request, context)).toMatchObject({ workspace: { retentionMinutes } });
    const shown = await admin.showUsage(create(ShowUsageRequestSchema, { workspaceId: id }), context);
    expect(shown).toMatchObject({ retentionMinutes, usage: { plan: "free" } });
  }
  await updateDeleted(quota.database, "gone", true);
  const list = async (range: { minMinutes: number; maxMinutes?: number }) => {
    const pages: string[][] = [];
    for (let pageToken: string | undefined = ""; pageToken !== undefined; ) {
      const request = create(ListRetentionsRequestSchema, { ...range, pageSize: 2, pageToken });
      const response = await handleListRetentions(quota.database, request);
      pages.push((response.workspaces ?? []).map((each) => `${each.workspaceId} ${each.retentionMinutes}`));
      pageToken = response.nextPageToken || undefined;
    }
    return pages;
  };
  expect(await list({ minMinutes: 1, maxMinutes: 1_439 })).toEqual([["shorter 10", "short 30"], ["short-too 30"]]);
  expect(await list({ minMinutes: 1_440 })).toEqual([["days 43200"]]);
  const request = create(ListRetentionsRequestSchema, { minMinutes: 1, pageToken: "x" });
  await expect(handleListRetentions(quota.database, request)).rejects.toThrow("page_token is invalid");
});
