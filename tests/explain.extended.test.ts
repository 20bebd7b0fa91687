import { readSse } from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createExplainer, type Explanation, isSettled, phaseMs } from "./cli/explanations.ts";
import { chat, postChat } from "./system/chat.ts";
import { cliEnv, runCliInProcess, runCliJson } from "./system/cli.ts";
import { createTenant, type System, startSystem } from "./system/system.ts";

vi.setConfig({ testTimeout: 180_000, hookTimeout: 180_000 });

let system: System;
let env: Record<string, string>;

beforeAll(async () => {
  system = await startSystem({
    edges: 2,
    env: { conversation: { EDGE_LEASE_SECONDS: "3" } },
    llmConfig: (base_url) => ({
      default_model: "openai:default",
      providers: {
        openai: { base_url, api_key_env: "OPENAI_API_KEY" },
        narrow: { base_url, concurrency: { max_active: 1 } },
      },
    }),
  });
  env = cliEnv(system);
});
afterAll(() => system?.stop());

const { chatAndExplain, explainTurn } = createExplainer(() => ({ system, env }));

describe("parley explain of a completed reply", () => {
  test("counts the wait for a provider's concurrency limit as the queue phase", async () => {
    // `first-1500` delays the first token by 1.5 s, so that the two calls overlap even on a busy machine.
    const tenant = await createTenant(system.admin, { model: "narrow:first-1500" });
    const both = await Promise.all([chatAndExplain(tenant), chatAndExplain(tenant)]);
    const queued = both.map(({ explanation }) => phaseMs(explanation, "queue")).sort((a, b) => a - b);
    expect(queued[0]).toBeLessThan(200);
    expect(queued[1]).toBeGreaterThanOrEqual(200);
    for (const { explanation } of both) expect(phaseMs(explanation, "provider")).toBeGreaterThanOrEqual(1_500);
  });
});

describe("parley explain of an unsuccessful reply", () => {
  test("shows the wait for an unreachable llm-proxy as the phase first_token", async () => {
    const tenant = await createTenant(system.admin);
    await system.llm.kill9();
    const result = await chat(system.url(), tenant).finally(() => system.llm.start());
    const explanation = await explainTurn(tenant, result.meta?.message_id, isSettled);
    expect(explanation).toMatchObject({ status: "error", error_code: "internal_error", calls: [] });
    expect(phaseMs(explanation, "first_token")).toBeGreaterThan(0);
    // Both edges must be connected to llm-proxy again before the next test.
    const finishReasons = () =>
      Promise.all([0, 1].map(async (edge) => (await chat(system.url(edge), tenant)).done?.finish_reason));
    await expect.poll(finishReasons).toEqual(["stop", "stop"]);
  });

  test("shows the whole time of a reply as the phase unrecorded if the reply's edge died", async () => {
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
