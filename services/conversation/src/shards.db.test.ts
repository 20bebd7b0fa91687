import { randomUUID } from "node:crypto";
import {
  AuditLogAdminService,
  BotAdminService,
  KeyAdminService,
  KnowledgeAdminService,
  TurnOutcome,
  UsageAuditAdminService,
} from "@parley/rpc/conversation";
import { expect, onTestFinished, test } from "vitest";
import type { Bot } from "./bots/bots.store.ts";
import { insertKey } from "./keys/keys.store.ts";
import { createPublicKey, parsePublicKey } from "./keys/public-key.ts";
import { startTestLlm } from "./testing/llm.ts";
import { addTurns, startShardedService, type TestShard } from "./testing/shards.ts";
import { rpcFailure } from "./testing/system.ts";
import { createBot, edgeFields, newCloseRequest, newOpenRequest } from "./testing/turns.ts";

const TIMEOUT = { timeout: 20_000, interval: 100 };
const DEADLINE = { timeoutMs: 5_000 };

test("the calls about a workspace run on its shard, and the router refuses no statement", async () => {
  const { router, first, second, quota, conversation, sessions, createAdminClient } = await startShardedService();
  const countWorkspaces = async ({ admin }: TestShard) =>
    (await admin.query("SELECT DISTINCT workspace_id FROM conversation.turns")).rows.map((row) => row.workspace_id);
  const workspaceIds = [0, 1].map(
    (shard) => Array.from({ length: 100 }, (_, n) => `ws_${n}`).find((id) => router.shardOf(id) === shard) ?? "",
  );
  for (const [shard, workspaceId] of workspaceIds.entries()) {
    const { bot } = await createAdminClient(BotAdminService).createBot({ workspaceId, slug: "help" });
    const ofBot = { workspaceId, botSlug: bot?.slug ?? "" };
    const keys = createAdminClient(KeyAdminService);
    const { key } = await keys.createKey({ ...ofBot, domains: ["a.example"] });
    const publicKey = key?.publicKey ?? "";
    expect(parsePublicKey("svc_pk_", publicKey)).toEqual({ shard });
    const { botId } = await conversation.resolveKey({ publicKey }, DEADLINE);
    const content = Buffer.from("# Refunds\n\nRefunds take a week.");
    await createAdminClient(KnowledgeAdminService).addSource({ ...ofBot, name: "a.md", format: "md", content });
    const fields = { visitorId: "v", message: "How long do refunds take?" };
    const turn = newOpenRequest({ workspaceId, id: botId, model: "" } as Bot, fields);
    const { messageId } = await conversation.openTurn(turn, DEADLINE);
    expect(await conversation.closeTurn(newCloseRequest(turn), DEADLINE)).toMatchObject({ outcome: TurnOutcome.DONE });
    await expect.poll(() => quota.shardByTurn.get(turn.turnId), TIMEOUT).toBe(shard);
    await conversation.rateMessage({ ...turn, messageId, rating: "up" }, DEADLINE);
    expect((await sessions.listSessions({ workspaceId }, DEADLINE)).sessions).toHaveLength(1);
    const audit = { workspaceId, month: "2026-11" };
    expect(await createAdminClient(UsageAuditAdminService).auditUsage(audit)).toMatchObject({ balanced: true });
    await keys.updateKey({ publicKey, domains: ["b.example"] });
    await keys.revokeKey({ publicKey });
    await sessions.eraseVisitor({ workspaceId, visitorId: "v" }, DEADLINE);
    await expect
      .poll(async () => (await sessions.listSessions({ workspaceId }, DEADLINE)).sessions, TIMEOUT)
      .toEqual([]);
  }
  expect(await Promise.all([first, second].map(countWorkspaces))).toEqual(workspaceIds.map((id) => [id]));
  expect(router.refusals).toEqual([]);
}, 60_000);

test("lists over all workspaces have the entries and the usage of each shard", async () => {
  const { first, second, quota, createAdminClient } = await startShardedService();
  const added = [await addTurns(first), await addTurns(second)];
  const isSettled = () => added.every(({ closed }) => quota.shardByTurn.has(closed));
  await expect.poll(isSettled, TIMEOUT).toBe(true);
  const usageAudit = createAdminClient(UsageAuditAdminService);
  const { balanced, workspaces } = await usageAudit.auditUsage({ month: "2026-11" });
  expect(balanced).toBe(true);
  expect(workspaces.map(({ id, used }) => [id, used])).toEqual(added.map(({ workspaceId }) => [workspaceId, 1]));
  const tokens = [""];
  do tokens.push((await usageAudit.repair({ token: tokens.at(-1) ?? "" })).nextToken);
  while (tokens.at(-1) !== "");
  expect(tokens.filter((token) => token.startsWith("1/"))).toHaveLength(5);

  for (const [shard, minutes] of [[first, 3] as const, [second, 2] as const, [first, 1] as const])
    await shard.admin.query(
      `INSERT INTO conversation.audit_log (workspace_id, changed_at, method, target, changed_fields)
       VALUES ('a', now() - make_interval(mins => $1::int), $1::int::text, '{}', '{}')`,
      [minutes],
    );
  const auditLog = createAdminClient(AuditLogAdminService);
  const methods: string[] = [];
  let pageToken = "";
  do {
    const page = await auditLog.listAllAuditLogEntries({ pageSize: 1, pageToken });
    methods.push(...page.entries.filter(({ workspaceId }) => workspaceId === "a").map(({ method }) => method));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  expect(methods).toEqual(["1", "2", "3"]);
}, 60_000);

test("RenewEdge stores the lease on each shard, and succeeds while one of them is away", async () => {
  const { first, second, conversation, metrics } = await startShardedService();
  const edge = edgeFields(randomUUID());
  const leases = async ({ admin }: TestShard) =>
    (await admin.query("SELECT FROM conversation.edges WHERE edge_id = $1", [edge.edgeId])).rowCount;
  await conversation.renewEdge(edge, { timeoutMs: 5_000 });
  expect([await leases(first), await leases(second)]).toEqual([1, 1]);
  await second.stop();
  expect(await conversation.renewEdge(edge, { timeoutMs: 5_000 })).toMatchObject({ leaseSeconds: 30 });
  expect(await metrics()).toMatch(/^parley_edge_lease_failures_total\{shard="0".*\} 0$/m);
  expect(await metrics()).toMatch(/^parley_edge_lease_failures_total\{shard="1".*\} 1$/m);
  await first.stop();
  expect(await rpcFailure(conversation.renewEdge(edge, { timeoutMs: 5_000 }))).toMatchObject({
    code: "lease_not_stored",
  });
}, 60_000);

test("a key is found on its shard; a key that names no shard is found on each, and is unavailable while one is away", async () => {
  const { first, second, conversation } = await startShardedService();
  const bot = await createBot(second.database);
  const newKey = (shard?: number) => createPublicKey("svc_pk_", (below) => Math.floor(Math.random() * below), shard);
  const [key, oldKey, unusedKey] = [newKey(1), newKey(), newKey()];
  for (const publicKey of [key, oldKey, unusedKey]) {
    const fields = {
      publicKey,
      workspaceId: bot.workspaceId,
      botSlug: bot.slug,
      allowedDomains: ["a.example"],
      name: "",
      challenge: "off",
    };
    await insertKey(second.database, fields, 10);
  }
  const resolve = async (publicKey: string) =>
    conversation.resolveKey({ publicKey }, { timeoutMs: 5_000 }).then(
      ({ workspaceId }) => workspaceId,
      ({ code }: { code: string }) => code,
    );
  expect(await resolve(oldKey)).toBe(bot.workspaceId);
  for (const unknown of [newKey(), newKey(0), newKey(1), newKey(2)])
    expect(await resolve(unknown)).toBe("invalid_api_key");
  await first.stop();
  // The service remembers the shard of the old key.
  for (const known of [key, oldKey, unusedKey]) expect(await resolve(known)).toBe(bot.workspaceId);
  expect(await resolve(newKey())).toBe("unavailable");
  expect(await resolve(newKey(0))).toBe("unavailable");
  expect(await resolve(newKey(1))).toBe("invalid_api_key");
  await first.resume();
  await second.stop();
  expect(await resolve(key)).toBe("unavailable");
  expect(await resolve(oldKey)).toBe("unavailable");
  expect(await resolve(newKey(0))).toBe("invalid_api_key");
}, 60_000);

test("the status of the embeddings is that of the workspace's shard", async () => {
  const llm = await startTestLlm();
  onTestFinished(() => llm.close());
  const { router, second, createAdminClient } = await startShardedService({ LLM_TARGET: llm.target });
  // Looks like pgvector's type.
  await second.admin.query("CREATE DOMAIN public.vector AS double precision[]");
  const stateOn = async (shard: number) => {
    const workspaceId =
      Array.from({ length: 100 }, (_, n) => `ws_${n}`).find((id) => router.shardOf(id) === shard) ?? "";
    const { bot } = await createAdminClient(BotAdminService).createBot({ workspaceId, slug: randomUUID().slice(0, 8) });
    const ofBot = { workspaceId, botSlug: bot?.slug ?? "" };
    return (await createAdminClient(KnowledgeAdminService).listSources(ofBot)).embeddings?.state;
  };
  await expect.poll(() => stateOn(0), TIMEOUT).toBe("no_pgvector");
  await expect.poll(() => stateOn(1), TIMEOUT).toBe("on");
}, 60_000);

test("the metrics of work on a shard name it, and count the failures of its tasks", async () => {
  const { second, metrics } = await startShardedService();
  const series = [
    "parley_settle_lag_seconds_count",
    'parley_reconciliation_repairs_total{kind="reply_not_counted",',
    'parley_task_failures_total{task="sweep",',
    'parley_db_shard_waiting{pool="main",',
    "parley_outbox_depth",
  ];
  const lines = (await metrics()).split("\n");
  for (const shard of ["0", "1"])
    for (const name of series)
      expect(
        lines.filter((line) => line.startsWith(name) && line.includes(`shard="${shard}"`)),
        name,
      ).toHaveLength(1);
  await second.stop();
  await expect
    .poll(metrics, TIMEOUT)
    .toMatch(/^parley_task_failures_total\{task="read deleted workspaces",shard="1".*\} [1-9]\d*$/m);
  expect(await metrics()).toMatch(/^parley_task_failures_total\{task="read deleted workspaces",shard="0".*\} 0$/m);
}, 60_000);
