import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import {
  FillCallLogRequestSchema,
  ListCallsOfMonthRequestSchema,
  ListCallsRequestSchema,
  SumCallsRequestSchema,
} from "@parley/rpc/llm";
import {
  createLogger,
  createServiceMetrics,
  type Database,
  Lifecycle,
  openShards,
  type ShardedDatabase,
} from "@parley/service-kit";
import { AWAY, createServiceDatabase, routeByWorkspace, type ServiceDatabase } from "@parley/service-kit/testing";
import { startShardRouter } from "@parley/test-support";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";
import { migrations } from "../../migrations/index.ts";
import { createMetrics } from "../metrics.ts";
import { callOf } from "../testing/call-rows.ts";
import { CallLog } from "./call-log.worker.ts";
import { createCallLogAdmin } from "./calls.admin.ts";
import { handleFillCallLog } from "./fill-call-log.rpc.ts";

let databases: [ServiceDatabase, ServiceDatabase];
let sharded: ShardedDatabase;
const metrics = createMetrics(createServiceMetrics("llm-proxy").registry, () => []);
const log = createLogger("test", "silent");
const context = {} as HandlerContext;

beforeAll(async () => {
  const target = { schema: "llm", role: "parley_llm", rolePassword: "llm-test", migrations };
  databases = [await createServiceDatabase(target, { shard: 0 }), await createServiceDatabase(target, { shard: 1 })];
});
afterAll(() => Promise.all(databases.map((each) => each.drop())));
beforeEach(async () => {
  for (const { admin } of databases) await admin.query("TRUNCATE llm.calls");
  sharded = shardsOf(databases[0].database, databases[1].database);
});

/** A workspace whose id contains "1" is on shard 1. */
const shardsOf = (...shards: Database[]) =>
  routeByWorkspace(shards, (workspaceId) => (workspaceId.includes("1") ? 1 : 0));

async function storeCalls(shards: ShardedDatabase, workspaceIds: readonly string[]): Promise<void> {
  const lifecycle = new Lifecycle(log);
  const callLog = new CallLog(shards, metrics, log, lifecycle);
  for (const [index, workspaceId] of workspaceIds.entries()) callLog.add(callOf(workspaceId, index));
  await lifecycle.close();
}

const countOn = async (shard: 0 | 1) => {
  const { rows } = await databases[shard].database.query<{ id: string; calls: number }>(
    "SELECT workspace_id AS id, count(*)::integer AS calls FROM llm.calls GROUP BY 1 ORDER BY 1",
  );
  return Object.fromEntries(rows.map(({ id, calls }) => [id, calls]));
};

test("each row of the call log is stored on its workspace's shard", async () => {
  await storeCalls(sharded, ["a-0", "a-1", "b-0", "a-1"]);
  expect(await countOn(0)).toEqual({ "a-0": 1, "b-0": 1 });
  expect(await countOn(1)).toEqual({ "a-1": 2 });
});

test("a shard that is away does not delay the rows of the others", async () => {
  await storeCalls(shardsOf(AWAY, databases[1].database), ["a-0", "a-1"]);
  expect(await countOn(0)).toEqual({});
  expect(await countOn(1)).toEqual({ "a-1": 1 });
});

test("sums the calls of all workspaces over the shards, and of some workspaces only on their shards", async () => {
  await storeCalls(sharded, ["a-0", "B-1", "c-0", "a-0"]);
  const sum = async (shards: ShardedDatabase, workspaceIds: string[]) => {
    const admin = createCallLogAdmin(shards, Date.now);
    const { sums } = await admin.sumCalls(create(SumCallsRequestSchema, { workspaceIds }), context);
    return sums?.map(({ workspaceId, calls }) => [workspaceId, calls]);
  };
  expect(await sum(sharded, [])).toEqual([
    ["a-0", 2n],
    ["B-1", 1n],
    ["c-0", 1n],
  ]);
  expect(await sum(shardsOf(AWAY, databases[1].database), ["B-1"])).toEqual([["B-1", 1n]]);
});

test("FillCallLog adds rows on the shard of the request, and refuses a shard that does not exist", async () => {
  const turn = { workspaceId: "a-1", turnId: randomUUID(), model: "p:m", closedAt: new Date().toISOString() };
  const fill = (shard: number) =>
    handleFillCallLog(
      { ...sharded, settings: () => ({ providers: [] }) as never, metrics, retentionDays: 0 },
      create(FillCallLogRequestSchema, { turns: [turn], shard }),
    );
  expect(await fill(1)).toEqual({ filled: 1 });
  expect(await countOn(1)).toEqual({ "a-1": 1 });
  await expect(fill(2)).rejects.toMatchObject({ kind: "invalid_argument" });
});

test("the router finds the shard of each statement about one workspace", async () => {
  const router = await startShardRouter({ shardUrls: databases.map(({ url }) => url) });
  const lifecycle = new Lifecycle(log);
  onTestFinished(async () => {
    await lifecycle.close();
    await router.stop();
  });
  const options = {
    url: router.through(databases[0].url),
    applicationName: "test",
    maxConnections: 2,
    shardCount: 2,
    keyedTable: "llm.calls",
  };
  const routed = openShards(options, log, lifecycle);
  const ids = ["ws-a", "ws-b", "ws-c", "ws-d", "ws-e", "ws-f"];
  await storeCalls(routed, ids);
  const admin = createCallLogAdmin(routed, Date.now);
  for (const workspaceId of ids) {
    const { calls } = await admin.listCallsOfMonth(create(ListCallsOfMonthRequestSchema, { workspaceId }), context);
    expect(calls).toHaveLength(1);
    const turnId = calls?.[0]?.turnId ?? "";
    const ofTurn = await admin.listCalls(create(ListCallsRequestSchema, { workspaceId, turnId }), context);
    expect(ofTurn.calls).toHaveLength(1);
  }
  expect(router.refusals).toEqual([]);
  for (const shard of [0, 1] as const)
    expect(Object.keys(await countOn(shard))).toEqual(ids.filter((id) => router.shardOf(id) === shard));
});
