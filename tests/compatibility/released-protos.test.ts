import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { chat, exportTranscript, postChat, readChat } from "../system/chat.ts";
import { waitUntilSettled } from "../system/database.ts";
import { mapConcurrently } from "../system/map-concurrently.ts";
import { type ReleasedProtosProxy, startReleasedProtosProxy } from "../system/released-protos.ts";
import { joinSharedSystem, type ServicePorts, type SharedSystem } from "../system/shared-system.ts";
import { createTenant } from "../system/system.ts";
import { countOutcomes, TRUST_FORWARDED_FOR, visit } from "../system/visitors.ts";

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const VISITS = 200;
const CONCURRENCY = 16;

let system: SharedSystem;
/** The proxies, by the environment variable that contains a proxy's address. */
let proxies: Record<"CONVERSATION_TARGET" | "QUOTA_TARGET" | "LLM_TARGET", ReleasedProtosProxy>;

// During a rollout, services of two versions call each other. Here, edge 1 and the conversation replica call through proxies that know only
// the released protos. So both sides of such a call see a peer of the last release. Edge 0 calls the services directly.
beforeAll(async () => {
  system = await joinSharedSystem();
  const start = (service: string, { port }: ServicePorts) => startReleasedProtosProxy(service, `127.0.0.1:${port}`);
  const quota = await start("parley.quota.v1.QuotaService", system.quota);
  const llm = await start("parley.llm.v1.LlmService", system.llm);
  const released = { QUOTA_TARGET: quota.target, LLM_TARGET: llm.target };
  const conversation = await system.startReplica("conversation", released);
  proxies = {
    CONVERSATION_TARGET: await start("parley.conversation.v1.ConversationService", conversation),
    QUOTA_TARGET: quota,
    LLM_TARGET: llm,
  };
  const { target } = proxies.CONVERSATION_TARGET;
  await system.startEdge({ ...TRUST_FORWARDED_FOR, CONVERSATION_TARGET: `127.0.0.1:${conversation.port}` });
  await system.startEdge({ ...TRUST_FORWARDED_FOR, ...released, CONVERSATION_TARGET: target });
});
afterAll(async () => {
  await system?.stop();
  for (const proxy of Object.values(proxies)) proxy.stop();
});

test("messages under load through edges of both versions get whole replies, and each is counted once", async () => {
  const tenant = await createTenant(system.admin);
  const results = await mapConcurrently(VISITS, CONCURRENCY, (i) => visit(system.url(i % 2), tenant));
  expect(countOutcomes(results)).toEqual({ stop: VISITS });
  const texts = results.map((result) => result.kind === "stream" && result.chat.text);
  expect(new Set(texts).size).toBe(1);
  expect(await waitUntilSettled(system.database, 60_000, tenant.workspaceId)).toMatchObject({
    done: VISITS,
    used: VISITS,
    ledger: VISITS,
    held: 0,
    streaming: 0,
    outbox: 0,
    unbalanced: 0,
  });
  const { CONVERSATION_TARGET, QUOTA_TARGET, LLM_TARGET } = proxies;
  for (const method of ["ResolveKey", "RenewEdge", "OpenTurn", "CloseTurn"])
    expect(CONVERSATION_TARGET.calledMethods).toContain(method);
  for (const method of ["Reserve", "Settle"]) expect(QUOTA_TARGET.calledMethods).toContain(method);
  expect(LLM_TARGET.calledMethods).toContain("Generate");
});

test("a session continues through an edge of the other version", async () => {
  const tenant = await createTenant(system.admin, { model: "openai:echo" });
  const session_id = randomUUID();
  const first = await chat(system.url(1), tenant, { session_id, message: "One" });
  const second = await chat(system.url(0), tenant, { session_id, message: "Two" });
  expect([first.done, second.done]).toMatchObject([{ finish_reason: "stop" }, { finish_reason: "stop" }]);
  const transcript = (await (await exportTranscript(system, tenant, session_id)).json()) as { messages: object[] };
  expect(transcript.messages).toMatchObject([
    { content: "One" },
    { content: first.text },
    { content: "Two" },
    { content: second.text },
  ]);
});

test("failures and requests with an idempotency key end in the same way through edges of both versions", async () => {
  const failing = await createTenant(system.admin, { model: "openai:status-401" });
  const tenant = await createTenant(system.admin);
  for (const edge of [0, 1]) {
    const failed = await chat(system.url(edge), failing);
    expect([failed.error, failed.done]).toMatchObject([{ code: "provider_auth" }, { finish_reason: "error" }]);
    const headers = { "idempotency-key": randomUUID() };
    const keyed = await readChat(await postChat(system.url(edge), tenant, {}, { headers }));
    expect(keyed.done).toMatchObject({ finish_reason: "stop" });
  }
});
