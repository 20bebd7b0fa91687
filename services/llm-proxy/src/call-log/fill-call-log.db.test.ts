import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { FillCallLogRequestSchema } from "@parley/rpc/llm";
import { createLogger, openDatabase, singleShard } from "@parley/service-kit";
import { type FakeProvider, startFakeProvider } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestProxy, type TestProxy } from "../testing/llm-proxy.ts";
import { insertCalls } from "./calls.store.ts";
import { handleFillCallLog } from "./fill-call-log.rpc.ts";

let provider: FakeProvider;
let proxy: TestProxy;
beforeAll(async () => {
  provider = await startFakeProvider();
  proxy = await startTestProxy({
    config: `
      default_model: fake:default
      providers: { fake: { base_url: ${provider.url} } }`,
  });
});
afterAll(async () => {
  await proxy.drop();
  await provider.close();
});

const closedAt = () => new Date().toISOString();
const prices = { priced: { input: 1000, output: 2000 } };

async function fill(
  turns: { turnId: string; closedAt: string }[],
  retentionDays = 400,
  workspaceId = "ws_test",
  database = proxy.database,
): Promise<number | undefined> {
  const counted: number[] = [];
  const { filled } = await handleFillCallLog(
    {
      ...singleShard(database),
      settings: () => ({ providers: [{ name: "fake", prices }] }) as never,
      metrics: { callLogRows: { inc: (_: object, count: number) => counted.push(count) } } as never,
      retentionDays,
    },
    create(FillCallLogRequestSchema, {
      turns: turns.map((turn) => ({
        ...turn,
        workspaceId,
        model: "fake:priced",
        month: "2026-11",
        tokensIn: 21,
        tokensOut: 34,
        firstTokenMs: 60,
        latencyMs: 500,
      })),
    }),
  );
  expect(counted).toEqual([filled]);
  return filled;
}

test("adds one row, with its cost, for a turn without a row, and none for a turn with a row", async () => {
  const [lost, stored] = [randomUUID(), randomUUID()];
  await proxy.generate({ turnId: stored, model: "fake:default" });
  expect(await proxy.rowsOf("ws_test", stored)).toHaveLength(1);
  const turns = [lost, stored].map((turnId) => ({ turnId, closedAt: closedAt() }));
  expect(await fill(turns)).toBe(1);
  expect(await fill(turns)).toBe(0);
  expect(await proxy.rowsOf("ws_test", lost)).toMatchObject([
    {
      provider: "fake",
      model: "fake:priced",
      tokensIn: 21,
      tokensOut: 34,
      cost: "0.0890000000",
      outcome: "complete",
      reason: "filled",
      month: "2026-11",
    },
  ]);
  expect(await proxy.rowsOf("ws_test", stored)).toMatchObject([{ reason: "" }]);
});

test("a generation's own row, stored late, replaces the filled row", async () => {
  const turnId = randomUUID();
  await proxy.generate({ turnId, model: "fake:default" });
  const [row] = await proxy.rowsOf("ws_test", turnId);
  if (row === undefined) throw new Error("no row");
  await proxy.database.query("DELETE FROM llm.calls WHERE turn_id = $1", [turnId]);
  expect(await fill([{ turnId, closedAt: closedAt() }])).toBe(1);
  for (let attempt = 0; attempt < 2; attempt++) await insertCalls(proxy.database, [row]);
  expect(await proxy.rowsOf("ws_test", turnId)).toEqual([row]);
});

test("adds no row for a turn whose own row is being stored", async () => {
  const turnId = randomUUID();
  await proxy.generate({ turnId, model: "fake:default" });
  const [row] = await proxy.rowsOf("ws_test", turnId);
  if (row === undefined) throw new Error("no row");
  await proxy.database.query("DELETE FROM llm.calls WHERE turn_id = $1", [turnId]);
  const log = createLogger("test", "silent");
  const serviceDatabase = openDatabase({ url: proxy.databaseUrl, applicationName: "test", maxConnections: 2 }, log);
  /** Waits until `count` statements wait for locks. */
  const untilWaiting = (count: number) => {
    const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    return expect.poll(async () => (await proxy.database.query(waiting)).rowCount, { timeout: 10_000 }).toBe(count);
  };
  const blocking = await proxy.database.connect();
  try {
    // While this row of another turn is not committed, the insertCalls below waits, because its row has the same primary key.
    await blocking.query("BEGIN");
    await insertCalls(blocking, [{ ...row, turnId: randomUUID() }]);
    const inserted = insertCalls(serviceDatabase, [row]);
    await untilWaiting(1);
    const filled = fill([{ turnId, closedAt: closedAt() }], 0, "ws_test", serviceDatabase);
    await Promise.race([filled, untilWaiting(2)]);
    await blocking.query("ROLLBACK");
    await inserted;
    expect(await filled).toBe(0);
  } finally {
    blocking.release();
    await serviceDatabase.end();
  }
  expect(await proxy.rowsOf("ws_test", turnId)).toEqual([row]);
});

test("listCallsOfMonth lists each filled row once across its pages, even if the turns were closed in the same millisecond", async () => {
  const workspaceId = "ws_paged";
  const microseconds = ["123100", "123400", "123700"];
  const turns = microseconds.map((each) => ({ turnId: randomUUID(), closedAt: `2026-11-20T10:00:00.${each}Z` }));
  await fill(turns, 0, workspaceId);
  const listed: string[] = [];
  let pageToken = "";
  do {
    const request = { workspaceId, month: "2026-11", pageSize: 1, pageToken };
    const { calls, nextPageToken } = await proxy.admin.calls.listCallsOfMonth(request);
    listed.push(...calls.map(({ turnId }) => turnId));
    pageToken = nextPageToken;
  } while (pageToken !== "");
  expect(listed).toEqual(turns.map(({ turnId }) => turnId).reverse());
});

test("adds no row that the retention would delete; with a retention of 0 days, adds old rows too", async () => {
  const old = new Date(Date.now() - 3 * 86_400_000).toISOString();
  expect(await fill([{ turnId: randomUUID(), closedAt: old }], 2)).toBe(0);
  expect(await fill([{ turnId: randomUUID(), closedAt: old }], 0)).toBe(1);
});
