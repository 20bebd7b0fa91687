import { randomUUID } from "node:crypto";
import { createLogger, createServiceMetrics, Lifecycle, singleShard } from "@parley/service-kit";
import { recordStatements } from "@parley/service-kit/testing";
import { type FakeProvider, startFakeProvider, startTcpProxy } from "@parley/test-support";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { createMetrics } from "../metrics.ts";
import { callOf } from "../testing/call-rows.ts";
import { eventually, startTestProxy, statusOf, type TestProxy } from "../testing/llm-proxy.ts";
import { CallLog } from "./call-log.worker.ts";
import { listCallsOfMonth } from "./calls.store.ts";
import { deleteOldCalls } from "./retention.worker.ts";
import { sumCalls } from "./sum-calls.store.ts";

let provider: FakeProvider;
let proxy: TestProxy;
const config = (url: string) => `
  default_model: fake:default
  providers:
    fake:
      base_url: ${url}
      retries: { base_delay_ms: 1 }
      prices: { priced: { input: 1000, output: 2000 } }
    hasty:
      base_url: ${url}
      timeouts: { first_token_ms: 700 }
    quiet:
      base_url: ${url}
      timeouts: { silence_ms: 700 }
`;
beforeAll(async () => {
  provider = await startFakeProvider();
  proxy = await startTestProxy({ config: config(provider.url) });
});
afterAll(async () => {
  await proxy.drop();
  await provider.close();
});
afterEach(() => provider.reset());

/** Returns a UTC month, such as 2026-11. */
const monthOf = (time: Date | undefined) => time?.toISOString().slice(0, 7) ?? "";

describe("the call log", () => {
  test("has a row with the request and the result of a generation", async () => {
    const turnId = randomUUID();
    provider.script([{ status: 503 }, { status: 503 }, { firstTokenMs: 60, everyMs: 10 }]);
    const startedAtMs = Date.now();
    await proxy.generate({ turnId, model: "fake:priced" });
    const [row] = await proxy.rowsOf("ws_test", turnId);
    expect(row).toMatchObject({
      workspaceId: "ws_test",
      turnId,
      provider: "fake",
      model: "fake:priced",
      asked: "fake:priced",
      tokensIn: 21,
      tokensOut: 34,
      estimated: false,
      attempts: provider.requests.length,
      failovers: 0,
      outcome: "complete",
      reason: "",
      cost: "0.0890000000",
    });
    expect(row?.firstTokenMs).toBeGreaterThanOrEqual(60);
    expect(row?.latencyMs).toBeGreaterThanOrEqual((row?.firstTokenMs ?? 0) + 50);
    expect(Math.abs((row?.createdAt.getTime() ?? 0) - startedAtMs)).toBeLessThan(1_000);
  });

  test.each([
    ["fake:status-401", { outcome: "provider_auth", reason: "http_401", tokensIn: 0, tokensOut: 0, attempts: 1 }],
    ["hasty:hang", { outcome: "provider_timeout", reason: "first_token_timeout", firstTokenMs: 0 }],
    ["quiet:stall-after-2", { outcome: "provider_timeout", reason: "silence_timeout", estimated: true }],
    ["fake:cut-after-3", { outcome: "provider_error", reason: "truncated", estimated: true, tokensOut: 3 }],
    ["fake:html", { outcome: "provider_error", reason: "not_a_stream" }],
    ["fake:default", { outcome: "complete", cost: null }],
  ])("has the outcome and the reason of a generation with the model %s", async (model, expected) => {
    const turnId = randomUUID();
    await proxy.generate({ turnId, model });
    expect((await proxy.rowsOf("ws_test", turnId))[0]).toMatchObject(expected);
  });

  test("does not store an invalid model name", async () => {
    const turnId = randomUUID();
    await proxy.generate({ turnId, model: "anything\0at all" });
    expect((await proxy.rowsOf("ws_test", turnId))[0]).toMatchObject({
      outcome: "model_unknown",
      asked: "",
      model: "",
      attempts: 0,
    });
  });

  test("lists a turn's generations in order, and only for its workspace", async () => {
    const turnId = randomUUID();
    for (const model of ["fake:one", "fake:two"]) await proxy.generate({ turnId, model });
    const rows = await proxy.rowsOf("ws_test", turnId, 2);
    expect(rows.map((row) => row.model)).toEqual(["fake:one", "fake:two"]);
    const { calls } = await proxy.admin.calls.listCalls({ workspaceId: "ws_test", turnId });
    expect(calls.map(({ model, outcome, attempts, tokensIn }) => [model, outcome, attempts, tokensIn])).toEqual([
      ["fake:one", "complete", 1, 21],
      ["fake:two", "complete", 1, 21],
    ]);
    expect(calls[0]?.startedAt).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    expect((await proxy.admin.calls.listCalls({ workspaceId: "ws_other", turnId })).calls).toEqual([]);
  });

  test("lists a workspace's generations of a month in pages, newest first and each once", async () => {
    const workspaceId = "ws_pages";
    const turnIds = Array.from({ length: 7 }, () => randomUUID());
    const month = "2031-02";
    await proxy.database.query(
      `INSERT INTO llm.calls
       SELECT $1, gen_random_uuid(), turn_id, 'p', 'p:m', '', 1, 1, false, 0, 0, 0, 1, 0, 'complete', '', NULL,
              '2031-02-03T00:00:00Z'::timestamptz + number * interval '1 second'
       FROM unnest($2::uuid[]) WITH ORDINALITY AS turn (turn_id, number)`,
      [workspaceId, turnIds],
    );
    const listed: string[] = [];
    let pageToken = "";
    do {
      const page = await proxy.admin.calls.listCallsOfMonth({ workspaceId, month, pageSize: 3, pageToken });
      expect(page.calls.length).toBeLessThanOrEqual(3);
      listed.push(...page.calls.map((call) => call.turnId));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect(listed).toEqual(turnIds.toReversed());
    expect((await proxy.admin.calls.listCallsOfMonth({ workspaceId, month: "2020-01" })).calls).toEqual([]);
    expect((await proxy.admin.calls.listCallsOfMonth({ workspaceId: "ws_empty" })).calls).toEqual([]);
  });

  test("sums tokens and cost of a month by workspace", async () => {
    const workspaceId = "ws_sums";
    const month = "2031-03";
    for (const model of ["fake:priced", "fake:priced", "fake:other", "fake:no-usage", "fake:status-401"]) {
      const turnId = randomUUID();
      await proxy.generate({ turnId, workspaceId, model, month });
      await proxy.rowsOf(workspaceId, turnId);
    }
    const expected = {
      workspaceId,
      calls: 5n,
      tokensIn: 21n * 3n + 2n,
      tokensOut: 34n * 3n + 10n,
      cost: "0.1780000000",
      unpricedCalls: 2n,
      estimatedCalls: 1n,
    };
    const turnId = randomUUID();
    await proxy.generate({ turnId, workspaceId: "ws_a", month });
    await proxy.rowsOf("ws_a", turnId);
    const { sums } = await proxy.admin.calls.sumCalls({ month });
    expect(sums).toMatchObject([{ workspaceId: "ws_a" }, expected]);
    expect((await proxy.admin.calls.sumCalls({ workspaceId, month })).sums).toEqual([
      expect.objectContaining(expected),
    ]);
    expect((await proxy.admin.calls.sumCalls({ month: "2020-01" })).sums).toEqual([]);
    const before = monthOf(new Date());
    const { month: defaultMonth } = await proxy.admin.calls.sumCalls({});
    expect([before, monthOf(new Date())]).toContain(defaultMonth);
  });

  test("counts a generation for the month of its turn's reservation, or, without a reservation, for the month in which the generation began", async () => {
    const [turnId, other] = [randomUUID(), randomUUID()];
    await proxy.generate({ turnId, workspaceId: "ws_reserved", month: "2031-01" });
    await proxy.generate({ turnId: other, workspaceId: "ws_reserved" });
    await proxy.rowsOf("ws_reserved", turnId);
    const [otherRow] = await proxy.rowsOf("ws_reserved", other);
    const callsOf = async (month: string) => {
      const { sums } = await proxy.admin.calls.sumCalls({ month, workspaceIds: ["ws_reserved", "ws_empty"] });
      return sums.map(({ workspaceId, calls }) => [workspaceId, calls]);
    };
    expect(await callsOf("2031-01")).toEqual([["ws_reserved", 1n]]);
    expect(await callsOf(monthOf(otherRow?.createdAt))).toEqual([["ws_reserved", 1n]]);
  });

  test("refuses to generate with an invalid month, and refuses to sum more than 1,000 workspaces", async () => {
    await expect(proxy.generate({ month: "2031-13" })).rejects.toThrow("month");
    const tooMany = Array.from({ length: 1_001 }, (_, index) => `ws_${index}`);
    await expect(proxy.admin.calls.sumCalls({ workspaceIds: tooMany })).rejects.toThrow("workspace_ids");
  });

  test("a month begins and ends in UTC, regardless of the database's time zone", async () => {
    const connection = await proxy.database.connect();
    try {
      await connection.query("BEGIN; SET LOCAL timezone = 'Pacific/Auckland'");
      await connection.query(
        `INSERT INTO llm.calls
         SELECT 'ws_month', gen_random_uuid(), gen_random_uuid(), 'p', 'p:m', '', 1, 1, false, 0, 0, 0, 1, 0, 'complete', '', 2, at
         FROM unnest(ARRAY['2026-01-31T23:59:59.999Z', '2026-02-01T00:00:00Z', '2026-02-01T00:00:00.001Z']::timestamptz[]) at`,
      );
      for (const [month, expected] of [
        ["2025-12", 0],
        ["2026-01", 1],
        ["2026-02", 2],
        ["2026-03", 0],
      ] as const) {
        const listed = await listCallsOfMonth(connection, "ws_month", month, { before: undefined, limit: 9 });
        const [sum] = await sumCalls(connection, month, ["ws_month"]);
        expect([listed.length, sum?.calls ?? 0], month).toEqual([expected, expected]);
      }
    } finally {
      await connection.query("ROLLBACK");
      connection.release();
    }
  });

  test.each([
    ["a negative page size", { workspaceId: "w", pageSize: -1 }, "page_size"],
    ["a page size above the limit", { workspaceId: "w", pageSize: 1_001 }, "page_size"],
    ["an invalid page token", { workspaceId: "w", pageToken: "1.x" }, "page_token"],
    ["an invalid month", { workspaceId: "w", month: "2026-13" }, "month"],
    ["a missing workspace", { workspaceId: "" }, "workspace_id"],
  ])("listCallsOfMonth refuses %s", async (_, request, field) => {
    await expect(proxy.admin.calls.listCallsOfMonth(request)).rejects.toThrow(field);
  });

  test("lists a month in the order of the index calls_month", async () => {
    const [statement] = await recordStatements(proxy.database, (database) =>
      listCallsOfMonth(database, "w", "2026-01", { before: undefined, limit: 10 }),
    );
    if (statement === undefined) throw new Error("no statement");
    const { rows } = await proxy.database.query(`EXPLAIN ${statement.text}`, statement.values);
    const plan = JSON.stringify(rows);
    expect(plan).toContain("calls_month");
    expect(plan).not.toContain("Sort");
  });

  test("refuses to list a turn without a workspace id or with an invalid turn id", async () => {
    await expect(proxy.admin.calls.listCalls({ workspaceId: "", turnId: randomUUID() })).rejects.toThrow(
      "workspace_id",
    );
    await expect(proxy.admin.calls.listCalls({ workspaceId: "w", turnId: "x" })).rejects.toThrow("turn_id");
  });

  test("has a row for each of a thousand concurrent generations", async () => {
    const calls = Array.from({ length: 1_000 }, () =>
      proxy.generate({ model: "builtin:extractive", workspaceId: "ws_many" }),
    );
    await Promise.all(calls);
    const count = async () => {
      const { rows } = await proxy.database.query<{ count: number }>(
        "SELECT count(*)::integer AS count FROM llm.calls WHERE workspace_id = 'ws_many'",
      );
      return rows[0]?.count;
    };
    await eventually(count, (rows) => rows === 1_000);
  });
});

test("drops only the rows that the database rejects, and stores all rows before and after them", async () => {
  const lines: string[] = [];
  const log = createLogger("test", "warn", { write: (line) => void lines.push(line) });
  const lifecycle = new Lifecycle(log);
  const metrics = createMetrics(createServiceMetrics("llm-proxy").registry, () => []);
  const callLog = new CallLog(singleShard(proxy.database), metrics, log, lifecycle);
  const rows = Array.from({ length: 300 }, (_, index) => callOf("ws_rejected", index));
  // PostgreSQL rejects a NUL in a text (22021), and a number that does not fit an integer column (22003).
  for (const [index, row] of rows.entries()) {
    const change = { 100: { asked: "a\0b" }, 299: { tokensIn: 2 ** 40 } }[index];
    callLog.add({ ...row, ...change });
  }
  await lifecycle.close();
  const { rows: stored } = await proxy.database.query<{ latency_ms: number }>(
    "SELECT latency_ms FROM llm.calls WHERE workspace_id = 'ws_rejected' ORDER BY latency_ms",
  );
  const expected = rows.map(({ latencyMs }) => latencyMs).filter((each) => each !== 100 && each !== 299);
  expect(stored.map((row) => row.latency_ms)).toEqual(expected);
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { message: "call log rows dropped", rows: 1, sqlstate: "22021" },
    { message: "call log rows dropped", rows: 1, sqlstate: "22003" },
  ]);
  const { values } = await metrics.callLogRows.get();
  expect(Object.fromEntries(values.map(({ labels, value }) => [labels.result, value]))).toMatchObject({
    stored: 298,
    late: 0,
    dropped: 2,
  });
});

describe("retention", () => {
  test("deletes only the expired rows of every workspace, in batches", async () => {
    const insert = (workspaceId: string, count: number, ageDays: number) =>
      proxy.database.query(
        `INSERT INTO llm.calls
         SELECT $1, gen_random_uuid(), gen_random_uuid(), 'p', 'p:m', '', 0, 0, false, 0, 0, 0, 1, 0, 'complete', '', NULL,
                now() - make_interval(days => $3)
         FROM generate_series(1, $2)`,
        [workspaceId, count, ageDays],
      );
    await Promise.all([
      insert("old_1", 25, 31),
      insert("old_1", 3, 29),
      insert("old_2", 7, 400),
      insert("young", 4, 0),
    ]);
    const log = createLogger("test", "silent");
    const { signal } = new AbortController();
    const remove = () => deleteOldCalls({ database: proxy.database, days: 30, batchRows: 10, log }, signal);
    // Two replicas delete at the same time.
    const deleted = await Promise.all([remove(), remove()]);
    expect(deleted[0] + deleted[1]).toBe(32);
    expect(await remove()).toBe(0);
    const { rows } = await proxy.database.query(
      "SELECT workspace_id AS id, count(*)::integer AS left FROM llm.calls WHERE workspace_id IN ('old_1', 'old_2', 'young') GROUP BY 1 ORDER BY 1",
    );
    expect(rows).toEqual([
      { id: "old_1", left: 3 },
      { id: "young", left: 4 },
    ]);
  });
});

describe("while the database is down", () => {
  test("generations continue, and each row is stored once when the database is back", async () => {
    const turnId = randomUUID();
    const network = await startTcpProxy({ targetPort: Number(new URL(proxy.databaseUrl).port) });
    const url = new URL(proxy.databaseUrl);
    url.port = String(network.port);
    const other = await startTestProxy({ config: config(provider.url), environment: { DATABASE_URL: url.href } });
    try {
      await network.drop();
      for (let call = 0; call < 3; call++) {
        expect(statusOf(await other.generate({ turnId }))).toBe("COMPLETE");
      }
      // A row is late if it was in memory when a write failed. `generate` may return before its row is in
      // memory, and a write may fail in between, so wait for two failures.
      const countFailures = async () =>
        (await other.metric('parley_llm_call_log_failures_total{service="llm-proxy"}')) ?? 0;
      const failuresBefore = await countFailures();
      await eventually(countFailures, (failures) => failures >= failuresBefore + 2);
      expect((await fetch(`${other.opsUrl}/healthz/ready`)).status).toBe(200);
      await network.resume();
      expect(await proxy.rowsOf("ws_test", turnId, 3)).toHaveLength(3);
      // A row is counted after the database has confirmed it.
      await eventually(
        () => other.metric('parley_llm_call_log_rows_total{result="late",service="llm-proxy"}'),
        (late) => late === 3,
      );
    } finally {
      await other.drop();
      await network.close();
    }
  });
});
