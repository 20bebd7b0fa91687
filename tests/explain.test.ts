import { randomUUID } from "node:crypto";
import { readSse, startToolServer, type ToolServer } from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createExplainer, type Explanation, isSettled, isSettledAndLogged, phaseMs } from "./cli/explanations.ts";
import { type ChatResult, chat, postChat } from "./system/chat.ts";
import { cliEnv, runCliInProcess } from "./system/cli.ts";
import { createPlan } from "./system/database.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system/system.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

const PASSAGE = "Refunds take a week and a day.";

let system: System;
let env: Record<string, string>;
let toolServer: ToolServer;

beforeAll(async () => {
  toolServer = await startToolServer();
  system = await startSystem({
    env: { "llm-proxy": { EGRESS_ALLOW: "127.0.0.1/32" } },
    llmConfig: (base_url) => ({
      default_model: "openai:default",
      providers: {
        openai: {
          base_url,
          api_key_env: "OPENAI_API_KEY",
          retries: { max_attempts: 2, base_delay_ms: 10 },
          prices: { "*": { input: 1, output: 2 } },
        },
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

const { chatAndExplain, explain, explainTurn } = createExplainer(() => ({ system, env }));

/** Gives the tenant's bot the HTTP tool `order` of the tool server. */
async function putOrderTool({ workspaceId, botSlug }: Tenant): Promise<void> {
  const parameters = '{"type":"object","properties":{"id":{"type":"string"}}}';
  const value = { description: "Finds an order.", method: "GET", url: `${toolServer.url}/orders`, parameters };
  await system.admin.tools.putTool({ workspaceId, botSlug, tool: { name: "order", kind: { case: "http", value } } });
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
  test("shows that the model's token limit cut it, as parley conversation show does", async () => {
    const tenant = await createTenant(system.admin, { model: "openai:length" });
    const { result, explanation } = await chatAndExplain(tenant, { until: isSettledAndLogged });
    expect(result.done?.finish_reason).toBe("stop");
    const cut = { finish_detail: "length" };
    expect(explanation).toMatchObject({ status: "done", ...cut, calls: [cut], quota: { state: "done" } });
    const args = ["conversation", "show", explanation.session_id, "--workspace", tenant.workspaceId];
    expect((await runCliInProcess(args, env)).stdout).toContain("cut at the token limit");
    const document = JSON.parse((await runCliInProcess([...args, "--json"], env)).stdout);
    expect(document.messages).toMatchObject([{ finish_detail: "" }, cut]);
  });

  test("shows the failover, the knowledge, the hold, the usage ledger, and phases that add up to the wall time", async () => {
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

    const output = await expectNoContent(tenant, explanation, result, message);
    for (const word of ["provider", "█", "wall", "close", "settle", "http_503", "failover", "returns.md", "counted"])
      expect(output).toContain(word);
    // The visitor's message, one id earlier, belongs to the same turn.
    expect(await explain(explanation.message_id - 1, tenant)).toMatchObject({ turn_id: explanation.turn_id });
  });

  test("counts the time between tokens as the tokens phase, and not as part of close_ms", async () => {
    const tenant = await createTenant(system.admin, { model: "openai:tokens-21-every-100" });
    const { explanation } = await chatAndExplain(tenant);
    // The tokens take 2 s, or less if a busy machine delays the first token.
    expect(phaseMs(explanation, "tokens")).toBeGreaterThanOrEqual(1_500);
    // close_ms counts from the end of the reply. If it included the phases, it would be longer than the tokens phase.
    expect(explanation.close_ms).toBeLessThan(phaseMs(explanation, "tokens"));
  });

  test("counts only the longest of parallel tool calls as tools time, and none as provider time", async () => {
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
    // The two delays add up to 2.5 s.
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
    const match = (await response.text()).match(/"message_id":(\d+)/);
    const explanation = await explainTurn(tenant, match?.[1], isSettled);
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
      calls: [
        {
          outcome: "provider_auth",
          reason: "http_401",
          tries: [{ reason: "http_401", next: "end", provider_status: 401 }],
        },
      ],
      quota: { state: "void", held_at: expect.stringMatching(/Z$/), counted_at: "" },
    });
    await expectNoContent(tenant, explanation, result, "Hello?");
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
      until: ({ phaseCount }) => phaseCount > 0,
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
});

describe("parley explain of an unknown message", () => {
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
});
