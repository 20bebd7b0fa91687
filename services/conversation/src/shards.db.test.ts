import { randomUUID } from "node:crypto";
import { AuditLogAdminService, UsageAuditAdminService } from "@parley/rpc/conversation";
import { expect, onTestFinished, test } from "vitest";
import { insertKey } from "./keys/keys.store.ts";
import { createPublicKey } from "./keys/public-key.ts";
import { startTestQuota } from "./testing/quota.ts";
import { startTestService } from "./testing/service.ts";
import { createTestShards, type TestShard } from "./testing/shards.ts";
import { rpcFailure } from "./testing/system.ts";
import { createBot, edgeFields, newTurn, runTurn } from "./testing/turns.ts";
import { findTurnResult } from "./turns/close-turn.store.ts";
import { openTurn } from "./turns/open-turn.store.ts";

const TIMEOUT = { timeout: 20_000, interval: 100 };

/** Starts the service over two shards, without a router: no call about one workspace works. */
async function startService() {
  const { url, shards, drop } = await createTestShards(2);
  const quota = await startTestQuota();
  const env = { DATABASE_SHARDS: "2", EDGE_LEASE_SECONDS: "3" };
  const service = await startTestService(url, quota.target, env);
  onTestFinished(async () => {
    await service.stop();
    await quota.close();
    await drop();
  });
  const isReady = async () => (await fetch(`${service.opsUrl}/healthz/ready`)).ok;
  const metrics = async () => (await fetch(`${service.opsUrl}/metrics`)).text();
  const [first, second] = shards as [TestShard, TestShard];
  return { ...service, first, second, quota, isReady, metrics };
}

/** Closes a turn and leaves another one open for an hour. Returns their ids. */
async function addTurns({ database, admin }: TestShard) {
  const bot = await createBot(database);
  const [closed, abandoned] = [newTurn(bot), newTurn(bot)];
  await runTurn(database, closed);
  await openTurn(database, abandoned);
  await admin.query("UPDATE conversation.turns SET opened_at = now() - interval '1 hour' WHERE turn_id = $1", [
    abandoned.turnId,
  ]);
  return { workspaceId: bot.workspaceId, closed: closed.turnId, abandoned: abandoned.turnId };
}

test("each shard's turns are swept and settled with the shard's number, also while another shard is away", async () => {
  const { first, second, quota, isReady, metrics } = await startService();
  await expect.poll(isReady, TIMEOUT).toBe(true);
  const added = [await addTurns(first), await addTurns(second)];
  const shards = () =>
    added.flatMap(({ closed, abandoned }) => [closed, abandoned].map((id) => quota.shardByTurn.get(id)));
  await expect.poll(shards, TIMEOUT).toEqual([0, 0, 1, 1]);
  const { workspaceId = "", abandoned = "" } = added[1] ?? {};
  expect((await findTurnResult(second.database, workspaceId, abandoned))?.status).toBe("interrupted");

  const waiting = await addTurns(second);
  await second.stop();
  const settled = await addTurns(first);
  await expect.poll(() => quota.shardByTurn.get(settled.closed), TIMEOUT).toBe(0);
  await expect.poll(() => quota.shardByTurn.get(settled.abandoned), TIMEOUT).toBe(0);
  await expect.poll(metrics, TIMEOUT).toMatch(/^parley_outbox_depth\{shard="1".*\} NaN$/im);
  expect(await metrics()).toMatch(/^parley_outbox_depth\{shard="0".*\} 0$/m);
  expect(await isReady()).toBe(true);

  await second.resume();
  await expect.poll(() => quota.shardByTurn.get(waiting.closed), TIMEOUT).toBe(1);
  await expect.poll(() => quota.shardByTurn.get(waiting.abandoned), TIMEOUT).toBe(1);
}, 90_000);

test("lists over all workspaces have the entries and the usage of each shard", async () => {
  const { first, second, quota, createAdminClient } = await startService();
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
  const { first, second, conversation } = await startService();
  const edge = edgeFields(randomUUID());
  const leases = async ({ admin }: TestShard) =>
    (await admin.query("SELECT FROM conversation.edges WHERE edge_id = $1", [edge.edgeId])).rowCount;
  await conversation.renewEdge(edge, { timeoutMs: 5_000 });
  expect([await leases(first), await leases(second)]).toEqual([1, 1]);
  await second.stop();
  expect(await conversation.renewEdge(edge, { timeoutMs: 5_000 })).toMatchObject({ leaseSeconds: 3 });
  await first.stop();
  expect(await rpcFailure(conversation.renewEdge(edge, { timeoutMs: 5_000 }))).toMatchObject({
    code: "lease_not_stored",
  });
}, 60_000);

test("a key is found on its shard; a key that names no shard is found on each, and is unavailable while one is away", async () => {
  const { first, second, conversation } = await startService();
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
