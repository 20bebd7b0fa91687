import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { createClient, GrpcTransport, openChannel } from "@parley/rpc";
import {
  AddCreditRequestSchema,
  AdjustUsageRequestSchema,
  CloseMonthRequestSchema,
  CorrectUnpaidRequestSchema,
  CreateWorkspaceRequestSchema,
  GetTurnEntryRequestSchema,
  GetWorkspaceRequestSchema,
  ListAdjustmentsRequestSchema,
  ListCreditsRequestSchema,
  ListMonthTurnsRequestSchema,
  ListNearestCapRequestSchema,
  ListPlansRequestSchema,
  ListUsageMonthsRequestSchema,
  ListUsageRequestSchema,
  ListWorkspacesRequestSchema,
  QuotaService,
  ReservationState,
  ReserveRequestSchema,
  ResetUnpaidRequestSchema,
  RevokeCreditRequestSchema,
  SetKnowledgeLimitsRequestSchema,
  SetOverageRequestSchema,
  SetPlanRequestSchema,
  SetRetentionRequestSchema,
  SettleOutcome,
  SettleRequestSchema,
  SetWorkspaceDeletedRequestSchema,
  ShowUsageRequestSchema,
} from "@parley/rpc/quota";
import {
  createLogger,
  createRegistry,
  createServiceMetrics,
  type Database,
  FairQueue,
  Lifecycle,
  openShards,
  Registry,
  type ShardedDatabase,
} from "@parley/service-kit";
import { AWAY, routeByWorkspace } from "@parley/service-kit/testing";
import { freePorts, type ShardRouter, startShardRouter } from "@parley/test-support";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { readConfig } from "./config.ts";
import { handleCloseMonth } from "./months/close-month.rpc.ts";
import { createPrunedRowCounter } from "./months/months.metrics.ts";
import { addMonths } from "./months/months.store.ts";
import { pruneUsage } from "./months/prune.worker.ts";
import { start } from "./server.ts";
import { createQuotaDatabase, type QuotaDatabase, usageOf } from "./testing/quota-database.ts";
import { handleCorrectUnpaid } from "./unpaid/correct-unpaid.rpc.ts";
import { handleReserve } from "./usage/reserve.rpc.ts";
import { handleSettle } from "./usage/settle.rpc.ts";
import { settle } from "./usage/settlements.store.ts";
import { createMisroutedCounter, registerUsageGauges } from "./usage/usage.metrics.ts";
import { handleListMonthTurns } from "./usage-audit/list-month-turns.rpc.ts";
import { createTurnEntryAdmin } from "./usage-audit/turn-entry.admin.ts";
import { handleGetWorkspace } from "./workspaces/get-workspace.rpc.ts";
import { listPlans } from "./workspaces/plans.store.ts";
import { handleSetWorkspaceDeleted } from "./workspaces/set-workspace-deleted.rpc.ts";
import { createWorkspaceAdmin } from "./workspaces/workspaces.admin.ts";
import { insertWorkspace, isDeleted } from "./workspaces/workspaces.store.ts";

const MONTH = "2024-03";
const context = {} as HandlerContext;
const log = createLogger("test", "silent");

let quotas: [QuotaDatabase, QuotaDatabase];
let sharded: ShardedDatabase;
let router: ShardRouter;
beforeAll(async () => {
  quotas = [await createQuotaDatabase({ shard: 0 }), await createQuotaDatabase({ shard: 1 })];
  router = await startShardRouter({ shardUrls: quotas.map(({ url }) => url) });
});
afterAll(async () => {
  await router.stop();
  await Promise.all(quotas.map((quota) => quota.drop()));
});
beforeEach(async () => {
  for (const { admin } of quotas)
    await admin.query("TRUNCATE quota.workspaces, quota.usage, quota.reservations, quota.ledger, quota.months");
  sharded = shardsOf(quotas[0].database, quotas[1].database);
});

/** A workspace whose id contains "1" is on shard 1. */
const numberOf = (workspaceId: string) => (workspaceId.includes("1") ? 1 : 0);
const shardsOf = (...databases: Database[]) => routeByWorkspace(databases, numberOf);
const quotaOf = (workspaceId: string) => quotas[numberOf(workspaceId) as 0 | 1];
const adminOf = (shards: ShardedDatabase) => createWorkspaceAdmin(shards, randomUUID);

/** Creates a workspace with `used` messages of a month. */
async function createUsedWorkspace(id: string, used = 0, month?: string): Promise<void> {
  const { database } = quotaOf(id);
  await insertWorkspace(database, id, id, "free");
  const turns = Array.from({ length: used }, () => ({ workspaceId: id, turnId: randomUUID(), month }));
  await settle(
    database,
    turns.map((turn) => ({ ...turn, outcome: "done" })),
  );
}

const settleOn = (shard: number, workspaceId: string) =>
  handleSettle(
    { sharded, misrouted: createMisroutedCounter(new Registry()), log },
    create(SettleRequestSchema, {
      shard,
      settlements: [{ workspaceId, turnId: randomUUID(), outcome: SettleOutcome.DONE }],
    }),
    new AbortController().signal,
  );

test("Settle stores a batch on the shard of the request, and refuses a shard that does not exist", async () => {
  for (const id of ["ws-0", "ws-1"]) {
    await createUsedWorkspace(id);
    expect((await settleOn(numberOf(id), id)).settled).toMatchObject([
      { workspaceId: id, outcome: SettleOutcome.DONE },
    ]);
    expect(await usageOf(quotaOf(id), id)).toMatchObject({ usedCounter: 1, ledgerRows: 1 });
  }
  expect(await usageOf(quotas[0], "ws-1")).toMatchObject({ usedCounter: 0, ledgerRows: 0 });
  expect(await usageOf(quotas[1], "ws-0")).toMatchObject({ usedCounter: 0, ledgerRows: 0 });
  await expect(settleOn(2, "ws-0")).rejects.toMatchObject({ kind: "invalid_argument" });
});

test("Settle refuses the settlements of workspaces of other shards, counts them, and stores the others", async () => {
  for (const id of ["ws-0", "ws-1"]) await createUsedWorkspace(id);
  const misrouted = createMisroutedCounter(new Registry());
  const settleTurns = (...workspaceIds: string[]) => {
    const settlements = workspaceIds.map((id) => ({
      workspaceId: id,
      turnId: randomUUID(),
      outcome: SettleOutcome.DONE,
    }));
    const request = create(SettleRequestSchema, { shard: 0, settlements });
    return handleSettle({ sharded, misrouted, log }, request, new AbortController().signal);
  };
  expect((await settleTurns("ws-1", "ws-0", "ws-1")).settled).toMatchObject([{ workspaceId: "ws-0" }]);
  await expect(settleTurns("ws-1")).rejects.toMatchObject({
    kind: "failed_precondition",
    code: "wrong_shard",
    message: "workspace ws-1 is on shard 1, not on shard 0",
  });
  expect((await misrouted.get()).values).toMatchObject([{ labels: { shard: "0" }, value: 3 }]);
  expect(await usageOf(quotas[0], "ws-0")).toMatchObject({ usedCounter: 1, ledgerRows: 1 });
  for (const quota of quotas) expect(await usageOf(quota, "ws-1")).toMatchObject({ usedCounter: 0, ledgerRows: 0 });
});

test("the lists of all workspaces merge the shards in the databases' order, page by page", async () => {
  // By code units, B and C would precede a.
  const ids = ["a-0", "a-1", "B-0", "b-1", "C-1", "c-0", "d-1"];
  for (const [index, id] of ids.toReversed().entries()) await createUsedWorkspace(id, index);
  const admin = adminOf(sharded);
  const listed: (string | undefined)[] = [];
  let pageToken = "";
  do {
    const page = await admin.listUsage(create(ListUsageRequestSchema, { pageSize: 2, pageToken }), context);
    listed.push(...(page.workspaces ?? []).map(({ workspaceId }) => workspaceId));
    pageToken = page.nextPageToken ?? "";
  } while (pageToken !== "");
  const { rows } = await quotas[0].database.query<{ id: string }>("SELECT id FROM unnest($1::text[]) id ORDER BY id", [
    ids,
  ]);
  expect(listed).toEqual(rows.map(({ id }) => id));
  const nearest = await admin.listNearestCap(create(ListNearestCapRequestSchema, { limit: 3 }), context);
  expect(nearest.workspaces?.map(({ workspaceId }) => workspaceId)).toEqual(["a-0", "a-1", "B-0"]);
  const created = await admin.listWorkspaces(create(ListWorkspacesRequestSchema), context);
  expect(created.workspaces?.map(({ id }) => id)).toEqual(ids.toReversed());
});

test("a list of all workspaces fails while a shard is away, and a workspace of another shard can be created", async () => {
  const admin = adminOf(shardsOf(AWAY, quotas[1].database));
  await expect(admin.listUsage(create(ListUsageRequestSchema), context)).rejects.toThrow("away");
  expect((await admin.listPlans(create(ListPlansRequestSchema), context)).plans).toHaveLength(3);
  const workspace = { id: "ws-1", name: "n", plan: "free" };
  expect(await admin.createWorkspace(create(CreateWorkspaceRequestSchema, workspace), context)).toMatchObject({
    workspace,
  });
});

test("the limits of a plan change on every shard", async () => {
  await adminOf(sharded).setKnowledgeLimits(
    create(SetKnowledgeLimitsRequestSchema, { plan: "free", knowledgeDocuments: 7 }),
    context,
  );
  for (const id of ["ws-0", "ws-1"]) {
    const request = create(CreateWorkspaceRequestSchema, { id, name: id, plan: "free" });
    expect(await adminOf(sharded).createWorkspace(request, context)).toMatchObject({
      workspace: { maxKnowledgeDocuments: 7 },
    });
  }
  await adminOf(sharded).setOverage(create(SetOverageRequestSchema, { plan: "free", overage: 9 }), context);
  for (const { database } of quotas)
    expect((await listPlans(database)).find(({ name }) => name === "free")).toMatchObject({ overage: 9 });
  await adminOf(sharded).setOverage(create(SetOverageRequestSchema, { plan: "free" }), context);
});

test("a month of which one shard was away is closed when that shard has closed it too", async () => {
  await createUsedWorkspace("ws-0", 2, MONTH);
  const prunedRows = createPrunedRowCounter(createRegistry("shards-test"));
  const { signal } = new AbortController();
  const prune = ({ shards }: ShardedDatabase, number: 0 | 1) => {
    const database = shards[number]?.database ?? AWAY;
    return pruneUsage({ shards, retentionMonths: 13, prunedRows, log }, { number, database }, signal);
  };
  await prune(shardsOf(quotas[0].database, AWAY), 0);
  const ageMonths = () =>
    Promise.all(
      quotas.map(({ admin }) => admin.query("UPDATE quota.months SET created_at = now() - interval '2 minutes'")),
    );
  await ageMonths();
  const close = (database: Database, used: number) =>
    handleCloseMonth(
      { database, log: { info: () => undefined } },
      create(CloseMonthRequestSchema, { month: MONTH, used: BigInt(used) }),
    );
  await close(quotas[0].database, 2);
  await expect(close(AWAY, 0)).rejects.toThrow("away");
  const listMonths = async (shards: ShardedDatabase) =>
    (await adminOf(shards).listUsageMonths(create(ListUsageMonthsRequestSchema), context)).months;
  await expect(listMonths(shardsOf(quotas[0].database, AWAY))).rejects.toThrow("away");
  expect(await listMonths(sharded)).toMatchObject([{ month: MONTH, used: 2n, closedAt: "" }]);

  // Shard 1 is back. It has no usage of the month, and closes it nevertheless.
  await prune(sharded, 1);
  await ageMonths();
  await close(quotas[1].database, 0);
  expect(await listMonths(sharded)).toMatchObject([{ month: MONTH, used: 2n, closedAt: expect.stringMatching(/Z$/) }]);
  const late = { workspaceId: "ws-1", turnId: randomUUID(), outcome: "done", month: MONTH } as const;
  expect(await settle(quotas[1].database, [late])).toMatchObject([{ code: "month_closed" }]);
});

test("addMonths adds a month of another shard only once", async () => {
  const { database } = quotas[0];
  for (let repeat = 0; repeat < 2; repeat++) await addMonths(database, [MONTH, "2024-04"]);
  const { rows } = await database.query("SELECT month FROM quota.months");
  expect(rows).toHaveLength(2);
});

test("the gauges of usage sum over the shards", async () => {
  await createUsedWorkspace("ws-0", 90);
  await createUsedWorkspace("ws-1", 85);
  const registry = new Registry();
  registerUsageGauges(registry, sharded.shards, log);
  await expect.poll(() => registry.metrics()).toContain('parley_quota_used_messages{plan="free"} 175');
  const metrics = await registry.metrics();
  expect(metrics).toContain('parley_quota_workspaces{plan="free"} 2');
  const ratios = metrics.split("\n").filter((line) => line.startsWith("parley_quota_workspace_used_ratio{"));
  expect(ratios.map((line) => line.split(" ").at(-1))).toEqual(["0.9", "0.85"]);
});

const TOKEN = "shards-test-token";

/** Starts the service with both shards, and returns a client. */
async function startService() {
  const [grpcPort = 0, opsPort = 0] = await freePorts(2);
  const lifecycle = new Lifecycle(log);
  const environment = { GRPC_PORT: `${grpcPort}`, OPS_PORT: `${opsPort}`, DATABASE_SHARDS: "2", DRAIN_MS: "2000" };
  const tokens = { INTERNAL_TOKEN: TOKEN, ADMIN_TOKEN: TOKEN };
  await start(
    readConfig({ ...environment, ...tokens, DATABASE_URL: router.through(quotas[0].url) }),
    log,
    lifecycle,
    createServiceMetrics("quota"),
  );
  const channel = openChannel({ target: `127.0.0.1:${grpcPort}`, retryable: [] });
  onTestFinished(async () => {
    channel.close();
    await lifecycle.close();
  });
  return createClient(
    QuotaService,
    new GrpcTransport(channel, (metadata) => metadata.set("authorization", `Bearer ${TOKEN}`)),
  );
}

test("the service runs each call about many workspaces on the shard of the request", async () => {
  const client = await startService();
  const options = { timeoutMs: 10_000 };
  const workspaceId = Array.from({ length: 100 }, (_, n) => `ws-${n}`).find((id) => router.shardOf(id) === 1) ?? "";
  const turn = { workspaceId, turnId: randomUUID() };
  const turns = [turn];
  const outcome = SettleOutcome.DONE;
  await client.settle({ settlements: [{ ...turn, outcome, month: MONTH }], shard: 1 }, options);
  /** Returns the numbers of workspaces, reservations and listed reservations. */
  const countOn = async (shard: number) => [
    (await client.getMonth({ month: MONTH, shard }, options)).workspaces.length,
    (await client.getReservations({ turns, shard }, options)).reservations.length,
    (await client.listReservations({ state: ReservationState.DONE, shard }, options)).reservations.length,
  ];
  expect(await countOn(0)).toEqual([0, 0, 0]);
  expect(await countOn(1)).toEqual([1, 1, 1]);
  const adjust = (shard: number) =>
    client.adjustTurns({ turns, outcome: SettleOutcome.VOID, reason: "reconciled", shard }, options);
  expect((await adjust(0)).adjusted).toEqual([]);
  expect((await adjust(1)).adjusted).toHaveLength(1);
  await addMonths(quotas[1].database);
  expect((await client.listMonths({ shard: 0 }, options)).months).toEqual([]);
  expect((await client.listMonths({ shard: 1 }, options)).months).toMatchObject([{ month: MONTH }]);
  const calls = [
    client.settle({ settlements: [], shard: 2 }, options),
    client.getMonth({ shard: 2 }, options),
    client.getReservations({ turns, shard: 2 }, options),
    client.listReservations({ state: ReservationState.DONE, shard: 2 }, options),
    client.listUnpaid({ shard: 2 }, options),
    client.listRetentions({ minMinutes: 1, shard: 2 }, options),
    client.listMonths({ shard: 2 }, options),
    client.closeMonth({ month: MONTH, shard: 2 }, options),
    adjust(2),
  ];
  for (const result of await Promise.allSettled(calls))
    expect(result).toMatchObject({ status: "rejected", reason: { code: "invalid_argument" } });
});

/** Runs every call about one workspace, also those that Reserve makes after a refusal. */
async function callAll(routed: ShardedDatabase, workspaceId: string): Promise<void> {
  const { database } = routed;
  const admin = adminOf(routed);
  await admin.createWorkspace(
    create(CreateWorkspaceRequestSchema, { id: workspaceId, name: "n", plan: "one" }),
    context,
  );
  const deps = { database, counter: { count: () => undefined }, limiter: new FairQueue({}) };
  for (const client of [new Uint8Array(), new Uint8Array(16)])
    await handleReserve(
      deps,
      create(ReserveRequestSchema, { workspaceId, turnId: randomUUID(), client }),
      new AbortController().signal,
    );
  await handleGetWorkspace(database, create(GetWorkspaceRequestSchema, { workspaceId }));
  await handleSetWorkspaceDeleted(database, create(SetWorkspaceDeletedRequestSchema, { workspaceId }));
  expect(await isDeleted(database, workspaceId)).toBe(false);
  const turns = handleListMonthTurns(database, create(ListMonthTurnsRequestSchema, { workspaceId, month: MONTH }));
  for await (const _ of turns) throw new Error("the month has no turns");
  const day = new Date().toISOString().slice(0, 10);
  await handleCorrectUnpaid(database, create(CorrectUnpaidRequestSchema, { workspaceId, day, unpaid: 2 }));
  const turnId = randomUUID();
  await createTurnEntryAdmin(database).getTurnEntry(
    create(GetTurnEntryRequestSchema, { workspaceId, turnId }),
    context,
  );
  await admin.setPlan(create(SetPlanRequestSchema, { workspaceId, plan: "free" }), context);
  await admin.setRetention(create(SetRetentionRequestSchema, { workspaceId, retentionMinutes: 30 }), context);
  await admin.resetUnpaid(create(ResetUnpaidRequestSchema, { workspaceId }), context);
  await admin.showUsage(create(ShowUsageRequestSchema, { workspaceId }), context);
  const adjustment = { month: MONTH, amount: 3, reason: "r", operator: "o", requestId: randomUUID() };
  await admin.adjustUsage(create(AdjustUsageRequestSchema, { workspaceId, ...adjustment }), context);
  await admin.listAdjustments(create(ListAdjustmentsRequestSchema, { workspaceId }), context);
  const credit = { messages: 3, reason: "r", operator: "o", requestId: randomUUID() };
  await admin.addCredit(create(AddCreditRequestSchema, { workspaceId, ...credit }), context);
  await admin.revokeCredit(create(RevokeCreditRequestSchema, { workspaceId, creditId: credit.requestId }), context);
  await admin.listCredits(create(ListCreditsRequestSchema, { workspaceId }), context);
}

test("the router finds the shard of each statement about one workspace", async () => {
  for (const { admin } of quotas)
    await admin.query("INSERT INTO quota.plans (plan, monthly_cap) VALUES ('one', 1) ON CONFLICT DO NOTHING");
  const lifecycle = new Lifecycle(log);
  onTestFinished(async () => void (await lifecycle.close()));
  const options = {
    url: router.through(quotas[0].url),
    applicationName: "test",
    maxConnections: 2,
    shardCount: 2,
    keyedTable: "quota.usage",
  };
  const routed = openShards(options, log, lifecycle);
  const ids = ["ws-a", "ws-b", "ws-c", "ws-d", "ws-e", "ws-f"];
  for (const id of ids) await callAll(routed, id);
  expect(router.refusals).toEqual([]);
  for (const [number, { admin }] of quotas.entries()) {
    const { rows } = await admin.query<{ id: string }>("SELECT workspace_id AS id FROM quota.workspaces ORDER BY 1");
    expect(rows.map(({ id }) => id)).toEqual(ids.filter((id) => router.shardOf(id) === number));
  }
});
