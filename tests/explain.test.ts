import { randomUUID } from "node:crypto";
import { readSse, startToolServer, type ToolServer } from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type ChatFields, type ChatResult, chat, postChat } from "./system/chat.ts";
import { cliEnv, runCliInProcess, runCliJson } from "./system/cli.ts";
import { createPlan } from "./system/database.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system/system.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

type Explanation = {
  message_id: number;
  turn_id: string;
  status: string;
  error_code: string;
  blocked_reason: string;
  wall_ms: number;
  phases: { name: string; ms: number }[];
  close_ms: number | null;
  settle_ms: number | null;
  calls: { outcome: string; attempts: number; failovers: number; tries: Record<string, unknown>[] }[] | null;
  knowledge: { chunk_id: number; source: string; heading: string }[];
  quota: { state: string; held_at: string; settled_at: string; counted_at: string } | null;
  missing: { service: string; why: string }[];
};

const PASSAGE = "Refunds take a week and a day.";

let system: System;
let env: Record<string, string>;
let toolServer: ToolServer;

beforeAll(async () => {
  toolServer = await startToolServer();
  system = await startSystem({
    edges: 2,
    env: { conversation: { EDGE_LEASE_SECONDS: "3" }, "llm-proxy": { EGRESS_ALLOW: "127.0.0.1/32" } },
    llmConfig: (base_url) => ({
      default_model: "openai:default",
      providers: {
        openai: {
          base_url,
          api_key_env: "OPENAI_API_KEY",
          retries: { max_attempts: 2, base_delay_ms: 10 },
          prices: { "*": { input: 1, output: 2 } },
        },
        narrow: { base_url, concurrency: { max_active: 1 } },
      },
      routes: { careful: ["openai:status-503", "openai:first-300"] },
    }),
  });
  env = cliEnv(system);
  await createPlan(system.database, "one", 1);
});
afterAll(async () => {
  await system?.stop();
  await toolServer.close();
});

const explain = (messageId: unknown, { workspaceId }: Tenant) =>
  runCliJson<Explanation>(["explain", String(messageId), "--workspace", workspaceId], env);

/** Gives the tenant's bot the HTTP tool `order` of the tool server. */
async function putOrderTool({ workspaceId, botSlug }: Tenant): Promise<void> {
  const parameters = '{"type":"object","properties":{"id":{"type":"string"}}}';
  const value = { description: "Finds an order.", method: "GET", url: `${toolServer.url}/orders`, parameters };
  await system.admin.tools.putTool({ workspaceId, botSlug, tool: { name: "order", kind: { case: "http", value } } });
}

const phaseMs = ({ phases }: Explanation, name: string) => phases.find((phase) => phase.name === name)?.ms ?? 0;

/** The stored state of a turn so far: the number of phases and of model calls, and the time of settlement. */
type TurnRecords = { phases: number; settledAt: string; calls: number };

const isSettled = ({ settledAt }: TurnRecords) => settledAt !== "";
const isSettledAndLogged = (records: TurnRecords) => isSettled(records) && records.calls > 0;

async function readRecords({ workspaceId }: Tenant, messageId: unknown): Promise<TurnRecords> {
  const { turn } = await system.admin.turns.getTurn({ workspaceId, messageId: BigInt(Number(messageId)) });
  const turnKey = { workspaceId, turnId: turn?.turnId ?? "" };
  const [{ entry }, { calls }] = await Promise.all([
    system.admin.usageAccounting.getTurnEntry(turnKey),
    system.admin.callLog.listCalls(turnKey),
  ]);
  return { phases: turn?.phases.length ?? 0, settledAt: entry?.settledAt ?? "", calls: calls.length };
}

/** Waits until a reply's records satisfy `until`. Then runs `parley explain` and checks that the phases add up to the wall time. */
async function explainTurn(tenant: Tenant, messageId: unknown, until?: (records: TurnRecords) => boolean) {
  if (until) await expect.poll(async () => until(await readRecords(tenant, messageId)), { timeout: 30_000 }).toBe(true);
  const explanation = await explain(messageId, tenant);
  const sum = explanation.phases.reduce((total, phase) => total + phase.ms, 0);
  expect(Math.abs(sum - explanation.wall_ms)).toBeLessThanOrEqual(2);
  expect(new Set(explanation.phases.map(({ name }) => name)).size).toBe(explanation.phases.length);
  return explanation;
}

/** Sends a message, reads the reply, and returns the reply with its explanation. */
async function chatAndExplain(
  tenant: Tenant,
  { fields = {}, until = isSettled }: { fields?: ChatFields; until?: typeof isSettled } = {},
) {
  const startedAt = performance.now();
  const result = await chat(system.url(), tenant, fields);
  const elapsedMs = performance.now() - startedAt;
  const explanation = await explainTurn(tenant, result.meta?.message_id, until);
  expect(explanation.wall_ms).toBe(result.done?.latency_ms);
  expect(explanation.wall_ms).toBeLessThanOrEqual(elapsedMs + 1);
  return { result, explanation };
}

/** Checks that `parley explain` prints no text of the message, the reply or the knowledge. Returns its output without `--json`. */
async function expectNoContent(tenant: Tenant, { message_id: id }: Explanation, { text }: ChatResult, message: string) {
  const args = ["explain", String(id), "--workspace", tenant.workspaceId];
  const [table, json] = [await runCliInProcess(args, env), await runCliInProcess([...args, "--json"], env)];
  for (const { stdout } of [table, json])
    for (const content of [message, text, PASSAGE]) if (content !== "") expect(stdout).not.toContain(content);
  return table.stdout;
}

describe("parley explain of a completed reply", () => {
  test("shows phases that add up to the wall time, the failover, the knowledge, the hold and the usage ledger", async () => {
    const tenant = await createTenant(system.admin, { model: "route:careful" });
    const { workspaceId, botSlug } = tenant;
    const content = new TextEncoder().encode(`# Returns\n\n${PASSAGE}\n`);
    await system.admin.knowledge.addSource({ workspaceId, botSlug, name: "returns.md", format: "md", content });
    const message = `How long do refunds take? ${randomUUID()}`;
    const { result, explanation } = await chatAndExplain(tenant, { fields: { message }, until: isSettledAndLogged });

    expect(explanation).toMatchObject({
      message_id: result.meta?.message_id,
      status: "done",
      knowledge: [{ chunk_id: expect.any(Number), source: "returns.md", heading: expect.any(String) }],
      tools: [],
      calls: [
        {
          asked: "route:careful",
          model: "openai:first-300",
          outcome: "complete",
          attempts: 3,
          failovers: 1,
          tokens_in: 21,
          tokens_out: 34,
          tokens_estimated: false,
          cost: "0.0000890000",
        },
      ],
      quota: { state: "done", held_at: expect.stringMatching(/Z$/), counted_at: expect.stringMatching(/Z$/) },
      missing: [],
    });
    expect(explanation.calls?.[0]?.tries).toMatchObject([
      { model: "openai:status-503", reason: "http_503", next: "retry", latency_ms: expect.any(Number) },
      { model: "openai:status-503", reason: "http_503", next: "failover", latency_ms: expect.any(Number) },
      { model: "openai:first-300", reason: "", next: "", latency_ms: expect.any(Number) },
    ]);
    const names = explanation.phases.map(({ name }) => name);
    const order = ["limits", "key", "open", "retrieval", "reserve", "own", "queue", "provider", "reader", "tokens"];
    expect(names).toEqual(order.filter((name) => names.includes(name)));
    expect(names).toEqual(
      expect.arrayContaining(["limits", "open", "retrieval", "reserve", "own", "provider", "tokens"]),
    );
    expect(phaseMs(explanation, "provider")).toBeGreaterThanOrEqual(300);
    expect(explanation.close_ms).toBeGreaterThanOrEqual(0);
    expect(explanation.settle_ms).toBeGreaterThanOrEqual(0);
    // close_ms counts from the end of the reply, so it must not include the phases.
    expect(explanation.close_ms).toBeLessThan(5_000);

    const output = await expectNoContent(tenant, explanation, result, message);
    for (const word of ["provider", "█", "wall", "close", "settle", "http_503", "failover", "returns.md", "counted"])
      expect(output).toContain(word);
    // The visitor's message, one id earlier, belongs to the same turn.
    expect(await explain(explanation.message_id - 1, tenant)).toMatchObject({ turn_id: explanation.turn_id });
  });

  test("counts the wait for a provider's concurrency limit as the queue phase", async () => {
    // The provider's 1.5 s are much longer than the time between the two calls, even on a busy machine.
    const tenant = await createTenant(system.admin, { model: "narrow:first-1500" });
    const both = await Promise.all([chatAndExplain(tenant), chatAndExplain(tenant)]);
    const queued = both.map(({ explanation }) => phaseMs(explanation, "queue")).sort((a, b) => a - b);
    expect(queued[0]).toBeLessThan(200);
    expect(queued[1]).toBeGreaterThanOrEqual(200);
    for (const { explanation } of both) expect(phaseMs(explanation, "provider")).toBeGreaterThanOrEqual(1_500);
  });

  test("counts the time between tokens as the tokens phase", async () => {
    const tenant = await createTenant(system.admin, { model: "openai:tokens-21-every-100" });
    const { explanation } = await chatAndExplain(tenant);
    // The tokens take 2 s. A busy machine may delay the first one.
    expect(phaseMs(explanation, "tokens")).toBeGreaterThanOrEqual(1_500);
  });

  test("counts a round of parallel tool calls once, and not as provider time", async () => {
    const tenant = await createTenant(system.admin);
    await putOrderTool(tenant);
    const delaysMs = [900, 1_600];
    toolServer.respondWith(() => ({ body: "{}", delayMs: delaysMs.shift() ?? 0 }));
    let requests = 0;
    system.provider.script(() =>
      ++requests === 1
        ? { toolCalls: ["A7", "B8"].map((id) => ({ name: "order", arguments: JSON.stringify({ id }) })) }
        : { tokens: ["Sent."] },
    );
    const { explanation } = await chatAndExplain(tenant).finally(() => system.provider.reset());
    expect(explanation.phases.map(({ name }) => name)).toContain("tools");
    expect(phaseMs(explanation, "tools")).toBeGreaterThanOrEqual(1_590);
    // The sum of both calls is 2.5 s.
    expect(phaseMs(explanation, "tools")).toBeLessThan(2_400);
    expect(phaseMs(explanation, "provider")).toBeLessThan(900);
  });

  test("adds up rounds of tool calls without text between them", async () => {
    const tenant = await createTenant(system.admin);
    await putOrderTool(tenant);
    toolServer.respondWith(() => ({ body: "{}", delayMs: 700 }));
    let requests = 0;
    const call = { name: "order", arguments: '{"id":"A7"}' };
    system.provider.script(() => (++requests <= 2 ? { toolCalls: [call] } : { tokens: ["Sent."] }));
    const { explanation } = await chatAndExplain(tenant).finally(() => system.provider.reset());
    expect(requests).toBe(3);
    expect(phaseMs(explanation, "tools")).toBeGreaterThanOrEqual(1_390);
    expect(phaseMs(explanation, "provider")).toBeLessThan(700);
  });

  test("shows a playground reply, whose first phase is the token check", async () => {
    const tenant = await createTenant(system.admin);
    const token = await system.sso.token({ workspaceId: tenant.workspaceId });
    const response = await fetch(`${system.url()}/api/chat/playground/`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ bot_slug: tenant.botSlug, session_id: randomUUID(), message: "Hello?" }),
    });
    const events = (await response.text()).match(/"message_id":(\d+)/);
    const explanation = await explainTurn(tenant, events?.[1], isSettled);
    expect(explanation).toMatchObject({ status: "done", source: "playground" });
    expect(explanation.phases[0]?.name).toBe("token");
  });
});

describe("parley explain of an unsuccessful reply", () => {
  test("shows the provider's error of a failed reply", async () => {
    const tenant = await createTenant(system.admin, { model: "openai:status-401" });
    const { result, explanation } = await chatAndExplain(tenant, { until: isSettledAndLogged });
    expect(explanation).toMatchObject({
      status: "error",
      error_code: "provider_auth",
      calls: [{ outcome: "provider_auth", reason: "http_401", tries: [{ reason: "http_401", next: "end" }] }],
      quota: { state: "void", held_at: expect.stringMatching(/Z$/), counted_at: "" },
    });
    await expectNoContent(tenant, explanation, result, "Hello?");
  });

  test("shows the wait for an unreachable llm-proxy as a phase", async () => {
    const tenant = await createTenant(system.admin);
    await system.llm.kill9();
    const result = await chat(system.url(), tenant).finally(() => system.llm.start());
    const explanation = await explainTurn(tenant, result.meta?.message_id, isSettled);
    expect(explanation).toMatchObject({ status: "error", error_code: "internal_error", calls: [] });
    expect(phaseMs(explanation, "first_token")).toBeGreaterThan(0);
  });

  test("shows no model call when the quota service was unreachable", async () => {
    const tenant = await createTenant(system.admin);
    await system.quota.kill9();
    let withoutQuota: Explanation;
    const result = await chat(system.url(), tenant);
    try {
      withoutQuota = await explainTurn(tenant, result.meta?.message_id);
    } finally {
      await system.quota.start();
    }
    expect(withoutQuota).toMatchObject({ status: "error", quota: null, settle_ms: null, calls: [] });
    expect(withoutQuota.missing).toEqual([
      { service: "quota", why: expect.stringContaining("quota does not answer at") },
    ]);
    expect(withoutQuota.phases.at(-1)?.name).toBe("reserve");
    const explanation = await explainTurn(tenant, result.meta?.message_id, isSettled);
    expect(explanation).toMatchObject({ missing: [], quota: { state: "void", held_at: "", counted_at: "" } });
  });

  test("shows the reason of a blocked message", async () => {
    const tenant = await createTenant(system.admin);
    const { workspaceId, botSlug } = tenant;
    await system.admin.moderation.addPattern({
      workspaceId,
      botSlug,
      pattern: "rude",
      fallback: "No.",
      reason: "manners",
    });
    const { result, explanation } = await chatAndExplain(tenant, {
      fields: { message: "so rude" },
      until: ({ phases }) => phases > 0,
    });
    expect(explanation).toMatchObject({
      status: "blocked",
      blocked_reason: "manners",
      calls: [],
      close_ms: null,
      quota: { state: "" },
    });
    await expectNoContent(tenant, explanation, result, "so rude");
  });

  test("shows no hold and no model call when the quota is exceeded", async () => {
    const tenant = await createTenant(system.admin, { plan: "one" });
    // An earlier test has restarted the quota service. Until the edge is connected again, a reply fails and is not counted.
    await expect
      .poll(async () => (await chat(system.url(), tenant)).done?.finish_reason, { timeout: 10_000 })
      .toBe("stop");
    const { explanation } = await chatAndExplain(tenant);
    expect(explanation).toMatchObject({
      status: "quota_exceeded",
      calls: [],
      quota: { state: "void", held_at: "", counted_at: "" },
    });
    expect(phaseMs(explanation, "reserve")).toBeGreaterThan(0);
  });

  test("shows whether a cancelled reply was cancelled before or after its first token", async () => {
    for (const [model, phase] of [
      ["openai:tokens-1000-every-20", "tokens"],
      ["openai:first-60000", "first_token"],
    ] as const) {
      const tenant = await createTenant(system.admin, { model });
      const visitor = new AbortController();
      const response = await postChat(system.url(), tenant, {}, { signal: visitor.signal });
      let messageId: unknown;
      for await (const item of readSse(response)) {
        if (!("event" in item)) continue;
        messageId ??= (item.data as { message_id: number }).message_id;
        if (phase === "first_token" || item.event === "token") break;
      }
      visitor.abort();
      const explanation = await explainTurn(tenant, messageId, isSettled);
      expect(explanation).toMatchObject({ status: "cancelled", quota: { state: "void" } });
      expect(phaseMs(explanation, phase)).toBeGreaterThan(0);
    }
  });

  test("shows how long a reply was open when its edge died, by the database's clock", async () => {
    const tenant = await createTenant(system.admin, { model: "openai:first-60000" });
    // Calls the iterator directly, because leaving a for-await loop closes the connection.
    const events = readSse(await postChat(system.url(1), tenant))[Symbol.asyncIterator]();
    const { value: first } = await events.next();
    const messageId = (first as { data: { message_id: number } }).data.message_id;
    const open = await explainTurn(tenant, messageId);
    expect(open).toMatchObject({ status: "streaming", closed_at: null, phases: [{ name: "unrecorded" }] });
    await system.edges[1]?.kill9();
    const explanation = await explainTurn(tenant, messageId, isSettled);
    expect(explanation).toMatchObject({ status: "interrupted", close_ms: null, quota: { state: "void" } });
    expect(explanation.phases).toEqual([{ name: "unrecorded", ms: explanation.wall_ms }]);
    expect(explanation.wall_ms).toBeGreaterThan(open.wall_ms);
    const { stdout } = await runCliInProcess(["explain", String(messageId), "--workspace", tenant.workspaceId], env);
    expect(stdout).toContain("the edge stopped before it reported the phases");
  });
});

describe("parley explain of missing data", () => {
  test("reports the same error for a message of another workspace, a missing one and an erased one", async () => {
    const [tenant, other] = [await createTenant(system.admin), await createTenant(system.admin)];
    const session_id = randomUUID();
    const { meta } = await chat(system.url(), tenant, { session_id });
    const id = String(meta?.message_id);
    const readError = async (messageId: string, workspaceId: string) => {
      const { code, stdout, stderr } = await runCliInProcess(["explain", messageId, "--workspace", workspaceId], env);
      expect([code, stdout]).toEqual([1, ""]);
      return stderr;
    };
    const missing = await readError("9007199254740991", tenant.workspaceId);
    expect(missing).toMatch(/^parley: no such message: .*\n$/);
    expect(await readError(id, other.workspaceId)).toBe(missing);
    expect(await readError(id, "nobody")).toBe(missing);
    expect(await readError(id, "no/such workspace")).toBe(missing);
    await system.admin.sessions.eraseSession({ workspaceId: tenant.workspaceId, sessionId: session_id });
    expect(await readError(id, tenant.workspaceId)).toBe(missing);
    const invalid = await runCliInProcess(["explain", "x", "--workspace", tenant.workspaceId], env);
    expect(invalid.code).toBe(2);
  });

  test("shows the other services' records when llm-proxy is unreachable or has no URL", async () => {
    const tenant = await createTenant(system.admin);
    const { meta } = await chat(system.url(), tenant);
    const args = ["explain", String(meta?.message_id), "--workspace", tenant.workspaceId];
    const explanation = await runCliJson<Explanation>(args, { ...env, PARLEY_LLM_URL: "" });
    expect(explanation).toMatchObject({
      status: "done",
      calls: null,
      missing: [{ service: "llm", why: expect.stringContaining("PARLEY_LLM_URL is not set") }],
    });
    await system.llm.kill9();
    const { code, stdout } = await runCliInProcess(args, env).finally(() => system.llm.start());
    expect(code).toBe(0);
    expect(stdout).toMatch(/Model\n {2}missing: llm does not answer at /);
  });
});
