import { randomUUID } from "node:crypto";
import { readSse, startToolServer, type ToolServer } from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createPlan } from "./system/books.ts";
import { type ChatFields, type ChatResult, chat, postChat } from "./system/chat.ts";
import { cliJson, runCli } from "./system/cli.ts";
import { ADMIN_TOKEN } from "./system/processes.ts";
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
  env = {
    ADMIN_TOKEN,
    PARLEY_CONVERSATION_URL: `http://127.0.0.1:${system.conversation.opsPort}`,
    PARLEY_QUOTA_URL: `http://127.0.0.1:${system.quota.opsPort}`,
    PARLEY_LLM_URL: `http://127.0.0.1:${system.llm.opsPort}`,
  };
  await createPlan(system.database, "one", 1);
});
afterAll(async () => {
  await system?.stop();
  await toolServer.close();
});

const explain = (messageId: unknown, { workspaceId }: Tenant) =>
  cliJson<Explanation>(["explain", String(messageId), "--workspace", workspaceId], env);

const ms = ({ phases }: Explanation, name: string) => phases.find((phase) => phase.name === name)?.ms ?? 0;

type Records = { phases: number; settledAt: string; calls: number };

const isSettled = ({ settledAt }: Records) => settledAt !== "";
const isLedgered = (records: Records) => isSettled(records) && records.calls > 0;

async function recordsOf({ workspaceId }: Tenant, messageId: unknown): Promise<Records> {
  const { turn } = await system.admin.turns.getTurn({ workspaceId, messageId: BigInt(Number(messageId)) });
  const named = { workspaceId, turnId: turn?.turnId ?? "" };
  const [{ entry }, { calls }] = await Promise.all([
    system.admin.books.getTurnEntry(named),
    system.admin.calls.listCalls(named),
  ]);
  return { phases: turn?.phases.length ?? 0, settledAt: entry?.settledAt ?? "", calls: calls.length };
}

/** Explains a reply once its last record is there; whatever it says, its phases are its wall time. */
async function explained(tenant: Tenant, messageId: unknown, until?: (records: Records) => boolean) {
  if (until) await expect.poll(async () => until(await recordsOf(tenant, messageId)), { timeout: 30_000 }).toBe(true);
  const told = await explain(messageId, tenant);
  const sum = told.phases.reduce((total, phase) => total + phase.ms, 0);
  expect(Math.abs(sum - told.wall_ms)).toBeLessThanOrEqual(2);
  expect(new Set(told.phases.map(({ name }) => name)).size).toBe(told.phases.length);
  return told;
}

/** A message, its answer, and the explanation of that. */
async function ask(
  tenant: Tenant,
  { fields = {}, until = isSettled }: { fields?: ChatFields; until?: typeof isSettled } = {},
) {
  const startedAt = performance.now();
  const result = await chat(system.url(), tenant, fields);
  const seenMs = performance.now() - startedAt;
  const told = await explained(tenant, result.meta?.message_id, until);
  expect(told.wall_ms).toBe(result.done?.latency_ms);
  expect(told.wall_ms).toBeLessThanOrEqual(seenMs + 1);
  return { result, told };
}

/** Nothing that was said, by the visitor, the model or the knowledge. */
async function expectNoContent(tenant: Tenant, { message_id: id }: Explanation, { text }: ChatResult, asked: string) {
  const args = ["explain", String(id), "--workspace", tenant.workspaceId];
  const [shown, raw] = [await runCli(args, env), await runCli([...args, "--json"], env)];
  for (const output of [shown.stdout, raw.stdout])
    for (const content of [asked, text, PASSAGE]) if (content !== "") expect(output).not.toContain(content);
  return shown.stdout;
}

describe("a reply that went well", () => {
  test("its phases are its wall time, and the model's failover, the knowledge, the hold and the ledger's line stand beside them", async () => {
    const tenant = await createTenant(system.admin, { model: "route:careful" });
    const { workspaceId, botSlug } = tenant;
    const content = new TextEncoder().encode(`# Returns\n\n${PASSAGE}\n`);
    await system.admin.knowledge.addSource({ workspaceId, botSlug, name: "returns.md", format: "md", content });
    const message = `How long do refunds take? ${randomUUID()}`;
    const { result, told } = await ask(tenant, {
      fields: { message },
      until: isLedgered,
    });

    expect(told).toMatchObject({
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
    expect(told.calls?.[0]?.tries).toMatchObject([
      { model: "openai:status-503", reason: "http_503", next: "retry", latency_ms: expect.any(Number) },
      { model: "openai:status-503", reason: "http_503", next: "failover", latency_ms: expect.any(Number) },
      { model: "openai:first-300", reason: "", next: "", latency_ms: expect.any(Number) },
    ]);
    const names = told.phases.map(({ name }) => name);
    const order = ["limits", "key", "open", "retrieval", "reserve", "own", "queue", "provider", "reader", "tokens"];
    expect(names).toEqual(order.filter((name) => names.includes(name)));
    expect(names).toEqual(
      expect.arrayContaining(["limits", "open", "retrieval", "reserve", "own", "provider", "tokens"]),
    );
    expect(ms(told, "provider")).toBeGreaterThanOrEqual(300);
    expect(told.close_ms).toBeGreaterThanOrEqual(0);
    expect(told.settle_ms).toBeGreaterThanOrEqual(0);
    // What lay before the end and what lay after it are not told twice.
    expect(told.close_ms).toBeLessThan(5_000);

    const shown = await expectNoContent(tenant, told, result, message);
    for (const word of ["provider", "█", "wall", "close", "settle", "http_503", "failover", "returns.md", "counted"])
      expect(shown).toContain(word);
    // The visitor's message before it is the same turn.
    expect(await explain(told.message_id - 1, tenant)).toMatchObject({ turn_id: told.turn_id });
  });

  test("who waits for a place at the provider waits in the queue", async () => {
    const tenant = await createTenant(system.admin, { model: "narrow:first-400" });
    const both = await Promise.all([ask(tenant), ask(tenant)]);
    const queued = both.map(({ told }) => ms(told, "queue")).sort((a, b) => a - b);
    expect(queued[0]).toBeLessThan(200);
    expect(queued[1]).toBeGreaterThanOrEqual(200);
    for (const { told } of both) expect(ms(told, "provider")).toBeGreaterThanOrEqual(400);
  });

  test("time between tokens is the tokens' own", async () => {
    const tenant = await createTenant(system.admin, { model: "openai:tokens-10-every-40" });
    const { told } = await ask(tenant);
    expect(ms(told, "tokens")).toBeGreaterThanOrEqual(300);
  });

  test("counts a round of parallel tool calls once, and not as time of the provider", async () => {
    const tenant = await createTenant(system.admin);
    const { workspaceId, botSlug } = tenant;
    const url = `${toolServer.url}/orders`;
    const value = { description: "Finds an order.", method: "GET", url, parameters: '{"type":"object"}' };
    const kind = { case: "http" as const, value };
    await system.admin.tools.putTool({ workspaceId, botSlug, tool: { name: "order", kind } });
    const delaysMs = [400, 700];
    toolServer.answer(() => ({ body: "{}", delayMs: delaysMs.shift() ?? 0 }));
    let requests = 0;
    system.provider.script(() =>
      ++requests === 1
        ? { toolCalls: ["A7", "B8"].map((id) => ({ name: "order", arguments: JSON.stringify({ id }) })) }
        : { tokens: ["Sent."] },
    );
    const { told } = await ask(tenant).finally(() => system.provider.reset());
    expect(told.phases.map(({ name }) => name)).toContain("tools");
    expect(ms(told, "tools")).toBeGreaterThanOrEqual(690);
    expect(ms(told, "tools")).toBeLessThan(1_000);
    expect(ms(told, "provider")).toBeLessThan(400);
  });

  test("the playground's phases are its wall time too", async () => {
    const tenant = await createTenant(system.admin);
    const token = await system.sso.token({ workspaceId: tenant.workspaceId });
    const response = await fetch(`${system.url()}/api/chat/playground/`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify({ bot_slug: tenant.botSlug, session_id: randomUUID(), message: "Hello?" }),
    });
    const events = (await response.text()).match(/"message_id":(\d+)/);
    const told = await explained(tenant, events?.[1], isSettled);
    expect(told).toMatchObject({ status: "done", source: "playground" });
    expect(told.phases[0]?.name).toBe("token");
  });
});

describe("a reply that did not", () => {
  test("error: what the provider did is told", async () => {
    const tenant = await createTenant(system.admin, { model: "openai:status-401" });
    const { result, told } = await ask(tenant, { until: isLedgered });
    expect(told).toMatchObject({
      status: "error",
      error_code: "provider_auth",
      calls: [{ outcome: "provider_auth", reason: "http_401", tries: [{ reason: "http_401", next: "end" }] }],
      quota: { state: "void", held_at: expect.stringMatching(/Z$/), counted_at: "" },
    });
    await expectNoContent(tenant, told, result, "Hello?");
  });

  test("error, because the model proxy was away: the wait for it is a phase", async () => {
    const tenant = await createTenant(system.admin);
    await system.llm.kill9();
    const result = await chat(system.url(), tenant).finally(() => system.llm.start());
    const told = await explained(tenant, result.meta?.message_id, isSettled);
    expect(told).toMatchObject({ status: "error", error_code: "internal_error", calls: [] });
    expect(ms(told, "first_token")).toBeGreaterThan(0);
  });

  test("error, because the quota service was away: nothing was asked of a model", async () => {
    const tenant = await createTenant(system.admin);
    await system.quota.kill9();
    let away: Explanation;
    const result = await chat(system.url(), tenant);
    try {
      away = await explained(tenant, result.meta?.message_id);
    } finally {
      await system.quota.start();
    }
    expect(away).toMatchObject({ status: "error", quota: null, settle_ms: null, calls: [] });
    expect(away.missing).toEqual([{ service: "quota", why: expect.stringContaining("quota does not answer at") }]);
    expect(away.phases.at(-1)?.name).toBe("reserve");
    const told = await explained(tenant, result.meta?.message_id, isSettled);
    expect(told).toMatchObject({ missing: [], quota: { state: "void", held_at: "", counted_at: "" } });
  });

  test("blocked: its phases come after it", async () => {
    const tenant = await createTenant(system.admin);
    const { workspaceId, botSlug } = tenant;
    await system.admin.moderation.addPattern({
      workspaceId,
      botSlug,
      pattern: "rude",
      fallback: "No.",
      reason: "manners",
    });
    const { result, told } = await ask(tenant, {
      fields: { message: "so rude" },
      until: ({ phases }) => phases > 0,
    });
    expect(told).toMatchObject({
      status: "blocked",
      blocked_reason: "manners",
      calls: [],
      close_ms: null,
      quota: { state: "" },
    });
    await expectNoContent(tenant, told, result, "so rude");
  });

  test("quota_exceeded: nothing was held, and no model asked", async () => {
    const tenant = await createTenant(system.admin, { plan: "one" });
    await chat(system.url(), tenant);
    const { told } = await ask(tenant);
    expect(told).toMatchObject({
      status: "quota_exceeded",
      calls: [],
      quota: { state: "void", held_at: "", counted_at: "" },
    });
    expect(ms(told, "reserve")).toBeGreaterThan(0);
  });

  test("cancelled: amid the tokens, and before the first", async () => {
    for (const [model, phase] of [
      ["openai:tokens-1000-every-20", "tokens"],
      ["openai:first-60000", "first_token"],
    ] as const) {
      const tenant = await createTenant(system.admin, { model });
      const leaving = new AbortController();
      const response = await postChat(system.url(), tenant, {}, { signal: leaving.signal });
      let messageId: unknown;
      for await (const item of readSse(response)) {
        if (!("event" in item)) continue;
        messageId ??= (item.data as { message_id: number }).message_id;
        if (phase === "first_token" || item.event === "token") break;
      }
      leaving.abort();
      const told = await explained(tenant, messageId, isSettled);
      expect(told).toMatchObject({ status: "cancelled", quota: { state: "void" } });
      expect(ms(told, phase)).toBeGreaterThan(0);
    }
  });

  test("interrupted: its edge died, and the database's clock tells how long it was open", async () => {
    const tenant = await createTenant(system.admin, { model: "openai:first-60000" });
    // A reader that is left open: leaving the loop would close the connection.
    const events = readSse(await postChat(system.url(1), tenant))[Symbol.asyncIterator]();
    const { value: first } = await events.next();
    const messageId = (first as { data: { message_id: number } }).data.message_id;
    const open = await explained(tenant, messageId);
    expect(open).toMatchObject({ status: "streaming", closed_at: null, phases: [{ name: "unrecorded" }] });
    await system.edges[1]?.kill9();
    const told = await explained(tenant, messageId, isSettled);
    expect(told).toMatchObject({ status: "interrupted", close_ms: null, quota: { state: "void" } });
    expect(told.phases).toEqual([{ name: "unrecorded", ms: told.wall_ms }]);
    expect(told.wall_ms).toBeGreaterThan(open.wall_ms);
    const { stdout } = await runCli(["explain", String(messageId), "--workspace", tenant.workspaceId], env);
    expect(stdout).toContain("the edge stopped before it reported the phases");
  });
});

describe("what cannot be explained", () => {
  test("a message of another workspace, one that does not exist and one that was erased give the same error", async () => {
    const [tenant, other] = [await createTenant(system.admin), await createTenant(system.admin)];
    const session_id = randomUUID();
    const { meta } = await chat(system.url(), tenant, { session_id });
    const id = String(meta?.message_id);
    const failure = async (messageId: string, workspaceId: string) => {
      const { code, stdout, stderr } = await runCli(["explain", messageId, "--workspace", workspaceId], env);
      expect([code, stdout]).toEqual([1, ""]);
      return stderr;
    };
    const missing = await failure("9007199254740991", tenant.workspaceId);
    expect(missing).toMatch(/^parley: no such message: .*\n$/);
    expect(await failure(id, other.workspaceId)).toBe(missing);
    expect(await failure(id, "nobody")).toBe(missing);
    expect(await failure(id, "no/such workspace")).toBe(missing);
    await system.admin.sessions.eraseSession({ workspaceId: tenant.workspaceId, sessionId: session_id });
    expect(await failure(id, tenant.workspaceId)).toBe(missing);
    const written = await runCli(["explain", "x", "--workspace", tenant.workspaceId], env);
    expect(written.code).toBe(2);
  });

  test("with the model proxy away, or no address for it, the rest is told", async () => {
    const tenant = await createTenant(system.admin);
    const { meta } = await chat(system.url(), tenant);
    const args = ["explain", String(meta?.message_id), "--workspace", tenant.workspaceId];
    const told = await cliJson<Explanation>(args, { ...env, PARLEY_LLM_URL: "" });
    expect(told).toMatchObject({
      status: "done",
      calls: null,
      missing: [{ service: "llm", why: expect.stringContaining("PARLEY_LLM_URL is not set") }],
    });
    await system.llm.kill9();
    const { code, stdout } = await runCli(args, env).finally(() => system.llm.start());
    expect(code).toBe(0);
    expect(stdout).toMatch(/Model\n {2}missing: llm does not answer at /);
  });
});
