import { randomUUID } from "node:crypto";
import { type FakeProvider, startFakeProvider, startTcpProxy } from "@parley/testing";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventually, startTestProxy, statusOf, type TestProxy } from "./test-proxy.ts";

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

describe("the call ledger", () => {
  test("tells of a reply what the provider saw", async () => {
    const turnId = randomUUID();
    provider.script([{ status: 503 }, { status: 503 }, { firstTokenMs: 60, everyMs: 10 }]);
    const before = Date.now();
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
    expect(Math.abs((row?.createdAt.getTime() ?? 0) - before)).toBeLessThan(1_000);
  });

  test.each([
    ["fake:status-401", { outcome: "provider_auth", reason: "http_401", tokensIn: 0, tokensOut: 0, attempts: 1 }],
    ["hasty:hang", { outcome: "provider_timeout", reason: "first_token_timeout", firstTokenMs: 0 }],
    ["quiet:stall-after-2", { outcome: "provider_timeout", reason: "silence_timeout", estimated: true }],
    ["fake:cut-after-3", { outcome: "provider_error", reason: "truncated", estimated: true, tokensOut: 3 }],
    ["fake:html", { outcome: "provider_error", reason: "not_a_stream" }],
    ["fake:default", { outcome: "complete", cost: null }],
  ])("says how it ended: %s", async (model, expected) => {
    const turnId = randomUUID();
    await proxy.generate({ turnId, model });
    expect((await proxy.rowsOf("ws_test", turnId))[0]).toMatchObject(expected);
  });

  test("keeps no name that is no model's", async () => {
    const turnId = randomUUID();
    await proxy.generate({ turnId, model: "anything\0at all" });
    expect((await proxy.rowsOf("ws_test", turnId))[0]).toMatchObject({
      outcome: "model_unknown",
      asked: "",
      model: "",
      attempts: 0,
    });
  });

  test("has one row a call: the calls of a turn stand in order, and only under their workspace", async () => {
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

  test("refuses to list what has no workspace or turn", async () => {
    await expect(proxy.admin.calls.listCalls({ workspaceId: "", turnId: randomUUID() })).rejects.toThrow(
      "workspace_id",
    );
    await expect(proxy.admin.calls.listCalls({ workspaceId: "w", turnId: "x" })).rejects.toThrow("turn_id");
  });

  test("a thousand replies leave a thousand rows", async () => {
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

describe("with its database away", () => {
  test("replies go on, and their rows are stored when it is back, each once", async () => {
    const turnId = randomUUID();
    const network = await startTcpProxy({ targetPort: Number(new URL(proxy.databaseUrl).port) });
    const url = new URL(proxy.databaseUrl);
    url.port = String(network.port);
    const other = await startTestProxy({ config: config(provider.url), environment: { DATABASE_URL: url.href } });
    try {
      await network.drop();
      for (let call = 0; call < 3; call++) {
        const started = performance.now();
        expect(statusOf(await other.generate({ turnId }))).toBe("COMPLETE");
        expect(performance.now() - started).toBeLessThan(1_500);
      }
      await eventually(
        () => other.metric('parley_llm_ledger_failures_total{service="llm-proxy"}'),
        (failures = 0) => failures > 0,
      );
      expect((await fetch(`${other.opsUrl}/healthz/ready`)).status).toBe(200);
      await network.resume();
      expect(await proxy.rowsOf("ws_test", turnId, 3)).toHaveLength(3);
      expect(await other.metric('parley_llm_ledger_rows_total{result="late",service="llm-proxy"}')).toBe(3);
    } finally {
      await other.drop();
      await network.close();
    }
  });
});
