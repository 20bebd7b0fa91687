import { randomUUID } from "node:crypto";
import { quickOrFull, readSse, startToolServer, type ToolServer } from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chat, postChat, readChat } from "../system/chat.ts";
import { cliEnv, runCliInProcess, runCliJson } from "../system/cli.ts";
import { queryFirstRow, readBalance, waitUntilSettled } from "../system/database.ts";
import { mapConcurrently } from "../system/map-concurrently.ts";
import { readMetric } from "../system/metrics.ts";
import { createTenant, type System, startSystem, type Tenant } from "../system/system.ts";
import { countOutcomes, newClientAddress, TRUST_FORWARDED_FOR, visit } from "../system/visitors.ts";

const TIMEOUT_MS = 20_000;

let toolServer: ToolServer;
let system: System;
const resources = new AsyncDisposableStack();
beforeAll(async () => {
  toolServer = await startToolServer();
  resources.defer(() => toolServer.close());
  system = await startSystem({
    edges: 2,
    llmConfig: (base_url) => ({
      default_model: "openai:default",
      providers: { openai: { base_url, api_key_env: "OPENAI_API_KEY", retries: { max_attempts: 1 } } },
      tools: { timeout_ms: 30_000 },
    }),
    env: {
      edge: { ...TRUST_FORWARDED_FOR, DETACHED_REPLY_MS: "1500" },
      "llm-proxy": { EGRESS_ALLOW: "127.0.0.1/32" },
      // Reconciles only when a test asks for it.
      conversation: { RECONCILE_EVERY_SECONDS: "3600" },
    },
  });
  resources.defer(() => system.stop());
});
afterAll(() => resources.disposeAsync());

type DropOptions = { address?: string; edge?: number; headers?: Record<string, string>; fields?: object };

/** The provider's text after some tokens: a reply that stalls there is read to this text. */
const THREE_TOKENS = "Hello from the";
const FIVE_TOKENS = "Hello from the scripted provider";
const NINE_TOKENS = "Hello from the scripted provider, token by token";

/** Reads a reply until it ends with `text`, and closes the connection. Returns the status, or the code of an earlier `error` event. */
async function drop(tenant: Tenant, text: string, options: DropOptions = {}): Promise<string> {
  const { address = newClientAddress(), edge = 0, headers = {}, fields = {} } = options;
  const closing = new AbortController();
  const init = { headers: { "x-forwarded-for": address, ...headers }, signal: closing.signal };
  const response = await postChat(system.url(edge), tenant, { ...fields }, init);
  if (response.status !== 200) {
    await response.text();
    return String(response.status);
  }
  let received = "";
  for await (const part of readSse(response)) {
    if (!("event" in part)) continue;
    const data = part.data as { code?: string; text?: string };
    if (part.event === "error") return String(data.code);
    received += data.text ?? "";
    if (received.endsWith(text)) break;
  }
  closing.abort();
  return "dropped";
}

/** The unpaid replies of the day that quota has counted, when every turn is settled. */
async function settledUnpaid(tenant: Tenant): Promise<number> {
  expect(await waitUntilSettled(system.database, TIMEOUT_MS, tenant.workspaceId)).toMatchObject({
    held: 0,
    streaming: 0,
    outbox: 0,
    unbalanced: 0,
  });
  const { usage } = await system.admin.workspaces.showUsage({ workspaceId: tenant.workspaceId });
  return usage?.unpaid ?? -1;
}

const auditOf = (tenant: Tenant, ...more: string[]) =>
  runCliInProcess(["usage-audit", "--workspace", tenant.workspaceId, ...more], cliEnv(system));

test("of 260 replies that visitors read nearly to the end and drop, a Free plan pays for at most 210, and an operator can reset the bound", async () => {
  const tenant = await createTenant(system.admin, { plan: "free", model: "openai:stall-after-9" });
  system.provider.reset();
  const results = await mapConcurrently(260, 20, (i) => drop(tenant, NINE_TOKENS, { edge: i % 2 }));
  const counts = Object.groupBy(results, (result) => result);
  expect(Object.keys(counts).sort()).toEqual(["busy", "dropped"]);
  expect(system.provider.requests.length).toBeLessThanOrEqual(210);
  // The bound is 50. At most the replies that ran when it was reached come on top. A dropped reply runs for half a second more.
  expect(system.provider.requests.length).toBeLessThanOrEqual(50 + 100);
  const unpaid = await settledUnpaid(tenant);
  expect(unpaid).toBe(counts.dropped?.length);
  expect(await readBalance(system.database, tenant.workspaceId)).toMatchObject({ done: 0, used: 0, ledger: 0 });

  const { error, done } = await chat(system.url(), tenant);
  expect(error).toEqual({ code: "busy", message: expect.not.stringMatching(/month|limit|quota/i) });
  expect(done).toMatchObject({ finish_reason: "error", tokens_in: 0, tokens_out: 0 });
  expect((await auditOf(tenant, "--check")).code).toBe(0);
  await expect
    .poll(() => readMetric(system.quota, "parley_quota_workspace_unpaid_ratio", { workspace: tenant.workspaceId }), {
      timeout: 15_000,
    })
    .toBeGreaterThanOrEqual(1);

  const usage = () => runCliJson(["usage", "--workspace", tenant.workspaceId], cliEnv(system));
  expect(await usage()).toMatchObject({ used: 0, held: 0, unpaid, unpaid_limit: 50 });
  expect(await runCliJson(["usage", "reset-unpaid", "--workspace", tenant.workspaceId], cliEnv(system))).toMatchObject({
    unpaid: 0,
    unpaid_limit: 50,
  });
  expect(await drop(tenant, NINE_TOKENS)).toBe("dropped");
  expect(await settledUnpaid(tenant)).toBe(1);
  // The count of the turns stays, so the usage audit still agrees.
  expect((await auditOf(tenant, "--check")).code).toBe(0);
  const changes = await runCliJson<{ method: string }[]>(
    ["audit-log", "--workspace", tenant.workspaceId],
    cliEnv(system),
  );
  expect(JSON.stringify(changes)).toContain("WorkspaceAdminService/ResetUnpaid");
});

test("a hundred hanging replies of two addresses lock no other visitor out", async () => {
  const tenant = await createTenant(system.admin, { plan: "free", model: "openai:hang" });
  system.provider.reset();
  const addresses = [newClientAddress(), newClientAddress()];
  const leaving = new AbortController();
  const hanging = Array.from({ length: 100 }, async (_, i) => {
    const headers = { "x-forwarded-for": addresses[i % 2] ?? "" };
    const response = await postChat(system.url(i % 2), tenant, {}, { headers, signal: leaving.signal });
    return (await readChat(response)).error?.code;
  });
  const ended = Promise.all(hanging.map((each) => each.catch(() => "left")));
  await expect.poll(() => system.provider.requests.length, { timeout: TIMEOUT_MS }).toBe(20);
  await expect
    .poll(() => readBalance(system.database, tenant.workspaceId))
    .toMatchObject({ used: 0, held: 20, streaming: 20 });
  const { workspaceId, origin } = tenant;
  const botSlug = "quick";
  await system.admin.bots.createBot({
    workspaceId,
    slug: botSlug,
    changes: { model: "openai:default", name: "Quick" },
  });
  const { key } = await system.admin.keys.createKey({ workspaceId, botSlug, domains: ["shop.example"] });
  const quick: Tenant = { workspaceId, botSlug, publicKey: key?.publicKey ?? "", origin };
  const visits = await mapConcurrently(10, 5, () => visit(system.url(), quick));
  expect(countOutcomes(visits)).toEqual({ stop: 10 });
  leaving.abort();
  expect(
    Object.entries(Object.groupBy(await ended, (code) => String(code)))
      .map(([k, v]) => [k, v?.length])
      .sort(),
  ).toEqual([
    ["busy", 80],
    ["left", 20],
  ]);
  // Nothing was sent to these visitors, so their replies are not unpaid.
  expect(await settledUnpaid(tenant)).toBe(0);
  expect(await readBalance(system.database, workspaceId)).toMatchObject({ used: 10, held: 0 });
  expect(
    await queryFirstRow(
      system.database,
      "SELECT count(client)::integer AS n FROM quota.reservations WHERE workspace_id = $1",
      [workspaceId],
    ),
  ).toEqual({ n: 0 });
});

test("an IPv6 client does not get more than one share by changing its address within a /48", async () => {
  const tenant = await createTenant(system.admin, { plan: "free", model: "openai:hang" });
  system.provider.reset();
  const leaving = new AbortController();
  const hanging = Array.from({ length: 30 }, (_, i) =>
    postChat(
      system.url(),
      tenant,
      {},
      {
        headers: { "x-forwarded-for": `2001:db8:77:${i.toString(16)}::1` },
        signal: leaving.signal,
      },
    )
      .then((response) => readChat(response))
      .catch(() => undefined),
  );
  await expect.poll(() => system.provider.requests.length, { timeout: TIMEOUT_MS }).toBe(10);
  await expect
    .poll(async () => (await readBalance(system.database, tenant.workspaceId)).streaming, { timeout: TIMEOUT_MS })
    .toBe(10);
  leaving.abort();
  await Promise.all(hanging);
  expect(await settledUnpaid(tenant)).toBe(0);
});

describe("a reply is unpaid", () => {
  test("if it is stopped after its first text", async () => {
    const tenant = await createTenant(system.admin, { model: "openai:stall-after-3" });
    const { public_key, session_id, key } = {
      public_key: tenant.publicKey,
      session_id: randomUUID(),
      key: randomUUID(),
    };
    const headers = { "idempotency-key": key, "x-forwarded-for": newClientAddress() };
    const response = await postChat(system.url(), tenant, { session_id }, { headers });
    const reading = readChat(response);
    await expect
      .poll(() => readBalance(system.database, tenant.workspaceId), { timeout: TIMEOUT_MS })
      .toMatchObject({ held: 1 });
    await expect.poll(() => system.provider.requests.length, { timeout: TIMEOUT_MS }).toBeGreaterThan(0);
    // The text is on its way: the provider sends it at once and then stalls.
    await new Promise((resolve) => setTimeout(resolve, 300));
    const stopped = await fetch(`${system.url(1)}/api/chat/stop/`, {
      method: "POST",
      headers: { origin: tenant.origin, "content-type": "application/json" },
      body: JSON.stringify({ public_key, session_id, idempotency_key: key }),
    });
    expect(await stopped.json()).toEqual({ status: "cancelled" });
    await reading;
    expect(await settledUnpaid(tenant)).toBe(1);
  });

  test("if a pattern blocks it late", async () => {
    const tenant = await createTenant(system.admin, { model: "openai:echo" });
    const { workspaceId, botSlug } = tenant;
    const pattern = { pattern: "the end$", reason: "late", fallback: "No.", appliesTo: "reply" };
    await system.admin.moderation.addPattern({ workspaceId, botSlug, ...pattern });
    const { done } = await chat(system.url(), tenant, { message: `${"word ".repeat(100)}the end` });
    expect(done).toMatchObject({ finish_reason: "blocked" });
    expect(await settledUnpaid(tenant)).toBe(1);
  });

  async function createToolTenant(): Promise<Tenant> {
    const tenant = await createTenant(system.admin, { model: "openai:default" });
    const { workspaceId, botSlug } = tenant;
    const parameters = JSON.stringify({ type: "object", properties: {} });
    const value = { description: "Does it.", method: "GET", url: `${toolServer.url}/act`, parameters };
    await system.admin.tools.putTool({ workspaceId, botSlug, tool: { name: "act", kind: { case: "http", value } } });
    return tenant;
  }

  const CALL = { toolCalls: [{ name: "act", arguments: "{}" }] };

  test("if the model calls tools without an end", async () => {
    const tenant = await createToolTenant();
    system.provider.reset();
    system.provider.script(() => CALL);
    expect((await chat(system.url(), tenant)).error).toMatchObject({ code: "provider_error" });
    expect(await settledUnpaid(tenant)).toBe(1);
    system.provider.reset();
  });

  test("if the visitor leaves while a slow tool runs", async () => {
    const tenant = await createToolTenant();
    system.provider.reset();
    system.provider.script(() => CALL);
    toolServer.requests.length = 0;
    toolServer.respondWith(() => ({ hangs: true }));
    const leaving = new AbortController();
    const reading = postChat(system.url(), tenant, {}, { signal: leaving.signal }).then((response) =>
      readChat(response),
    );
    reading.catch(() => undefined);
    await expect.poll(() => toolServer.requests.length, { timeout: TIMEOUT_MS }).toBe(1);
    leaving.abort();
    expect(await settledUnpaid(tenant)).toBe(1);
    toolServer.respondWith(() => ({ body: "{}" }));
    system.provider.reset();
  });

  const THOUGHTS = [{ object: "chat.completion.chunk", choices: [{ index: 0, delta: { reasoning_content: "Hm" } }] }];

  test.each([
    ["while the model thinks", { preamble: THOUGHTS, tokens: [] }],
    ["while moderation holds back all of the text", { preamble: [], tokens: ["answer"] }],
  ])("if the visitor leaves %s", async (_, reply) => {
    const tenant = await createTenant(system.admin, { model: "openai:default" });
    const { workspaceId, botSlug } = tenant;
    const pattern = { pattern: "answer.{0,20}end", reason: "late", fallback: "No.", appliesTo: "reply" };
    await system.admin.moderation.addPattern({ workspaceId, botSlug, ...pattern });
    system.provider.reset();
    system.provider.script([{ ...reply, fault: "stall" }]);
    const leaving = new AbortController();
    const reading = postChat(system.url(), tenant, {}, { signal: leaving.signal }).then((response) =>
      readChat(response),
    );
    reading.catch(() => undefined);
    await expect.poll(() => system.provider.requests.length, { timeout: TIMEOUT_MS }).toBe(1);
    // The output is on its way: the provider sends it at once and then stalls.
    await new Promise((resolve) => setTimeout(resolve, 500));
    leaving.abort();
    expect(await settledUnpaid(tenant)).toBe(1);
    system.provider.reset();
  });

  test("if the model thinks up to its output limit and writes no text", async () => {
    const tenant = await createTenant(system.admin, { model: "openai:default" });
    system.provider.reset();
    system.provider.script([{ preamble: THOUGHTS, tokens: [], finishReason: "length" }]);
    expect((await chat(system.url(), tenant)).error).toMatchObject({ code: "provider_error" });
    expect(await settledUnpaid(tenant)).toBe(1);
    system.provider.reset();
  });

  test("but not if the provider fails, also after a tool call", async () => {
    const tenant = await createToolTenant();
    system.provider.reset();
    let calls = 0;
    system.provider.script(() => (calls++ === 0 ? CALL : { status: 503 }));
    expect((await chat(system.url(), tenant)).error).toMatchObject({ code: "provider_error" });
    system.provider.reset();
    for (const model of ["cut-after-5", "error-chunk-after-5", "end-after-5", "status-500", "status-429"]) {
      const failing = await createTenant(system.admin, { model: `openai:${model}` });
      expect((await chat(system.url(), failing)).done).toMatchObject({ finish_reason: "error" });
      expect(await settledUnpaid(failing), model).toBe(0);
    }
    expect(await settledUnpaid(tenant)).toBe(0);
  });

  test("but not if a pattern blocks the message, or the visitor leaves before the first text", async () => {
    const tenant = await createTenant(system.admin, { model: "openai:hang" });
    const { workspaceId, botSlug } = tenant;
    const pattern = { pattern: "rude", reason: "rude", fallback: "No.", appliesTo: "message" };
    await system.admin.moderation.addPattern({ workspaceId, botSlug, ...pattern });
    expect((await chat(system.url(), tenant, { message: "rude" })).done).toMatchObject({ finish_reason: "blocked" });
    const leaving = new AbortController();
    const reading = postChat(system.url(), tenant, {}, { signal: leaving.signal }).then((response) =>
      readChat(response),
    );
    reading.catch(() => undefined);
    await expect
      .poll(() => readBalance(system.database, workspaceId), { timeout: TIMEOUT_MS })
      .toMatchObject({ held: 1 });
    leaving.abort();
    expect(await settledUnpaid(tenant)).toBe(0);
  });

  test("if no reader comes back to it in time, but not if it completes without a reader", async () => {
    const complete = await createTenant(system.admin, { model: "openai:tokens-10-every-100" });
    const keyed = () => ({ headers: { "idempotency-key": randomUUID() } });
    expect(await drop(complete, "t4 ", keyed())).toBe("dropped");
    await expect
      .poll(() => readBalance(system.database, complete.workspaceId), { timeout: 10_000 })
      .toMatchObject({ used: 1 });
    expect(await settledUnpaid(complete)).toBe(0);
    const left = await createTenant(system.admin, { model: "openai:stall-after-5" });
    expect(await drop(left, FIVE_TOKENS, keyed())).toBe("dropped");
    expect(await settledUnpaid(left)).toBe(1);
  });
});

test("an address that leaves 20 unpaid replies in an hour gets 429 for new messages of that workspace, and still its stored replies", async () => {
  const tenant = await createTenant(system.admin, { plan: "scale", model: "openai:stall-after-3" });
  const address = newClientAddress();
  const dropHere = () => drop(tenant, THREE_TOKENS, { address });
  const first = { "idempotency-key": randomUUID(), "x-forwarded-for": address };
  const session_id = randomUUID();
  expect(await drop(tenant, THREE_TOKENS, { address, headers: first, fields: { session_id } })).toBe("dropped");
  expect(await settledUnpaid(tenant)).toBe(1);
  const drops = await mapConcurrently(19, 5, dropHere);
  expect(new Set(drops)).toEqual(new Set(["dropped"]));
  await expect.poll(dropHere, { timeout: TIMEOUT_MS, interval: 1_000 }).toBe("429");
  const refused = await postChat(system.url(), tenant, {}, { headers: { "x-forwarded-for": address } });
  expect([refused.status, await refused.json()]).toEqual([429, { error: "rate_limited" }]);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(3_000);
  expect(refused.headers.get("ratelimit-policy")).toBe('"unpaid";q=20;w=3600');
  const repeated = await postChat(system.url(), tenant, { session_id }, { headers: first });
  expect(repeated.status).toBe(200);
  expect((await readChat(repeated)).done).toMatchObject({ finish_reason: "cancelled" });
  // Another address of the same workspace, and the same address at another workspace.
  expect(await drop(tenant, THREE_TOKENS)).toBe("dropped");
  const other = await createTenant(system.admin, { model: "openai:default" });
  const response = await postChat(system.url(), other, {}, { headers: { "x-forwarded-for": address } });
  expect((await readChat(response)).done).toMatchObject({ finish_reason: "stop" });
});

test("the usage audit finds a lost or a wrong number of unpaid replies, and a repair stores that of the turns", async () => {
  const tenant = await createTenant(system.admin, { model: "openai:stall-after-3" });
  await mapConcurrently(quickOrFull(4, 40), 4, () => drop(tenant, THREE_TOKENS));
  const unpaid = await settledUnpaid(tenant);
  expect(unpaid).toBe(quickOrFull(4, 40));
  for (const wrong of [0, unpaid + 3]) {
    await queryFirstRow(system.database, "UPDATE quota.usage SET unpaid = $2 WHERE workspace_id = $1", [
      tenant.workspaceId,
      wrong,
    ]);
    const { code, stdout } = await auditOf(tenant, "--check");
    expect([code, stdout]).toEqual([1, expect.stringContaining("unpaid_differs")]);
    expect((await auditOf(tenant, "--repair")).stdout).toMatch(/unpaid_differs +recount/);
    expect(await settledUnpaid(tenant)).toBe(unpaid);
    expect((await auditOf(tenant, "--check")).code).toBe(0);
  }
  // A database without the row, as after a restore.
  await queryFirstRow(system.database, "UPDATE quota.usage SET unpaid = 0, unpaid_day = NULL WHERE workspace_id = $1", [
    tenant.workspaceId,
  ]);
  expect((await auditOf(tenant, "--repair")).stdout).toContain("1 difference repaired");
  expect(await settledUnpaid(tenant)).toBe(unpaid);
});
