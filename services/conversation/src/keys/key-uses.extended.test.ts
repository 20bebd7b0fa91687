import { KeyAdminService } from "@parley/rpc/conversation";
import { singleShard } from "@parley/service-kit";
import { recordStatements } from "@parley/service-kit/testing";
import { expect, test } from "vitest";
import { useTestSystem } from "../testing/system.ts";
import { botFields, createBot } from "../testing/turns.ts";
import { KeyShards } from "./key-shards.service.ts";
import { KeyUses } from "./key-uses.worker.ts";
import { handleResolveKey } from "./resolve-key.rpc.ts";

const system = useTestSystem();
const keyShards = new KeyShards("svc_pk_");
const HOUR_MS = 3_600_000;

/** Creates a bot with keys. Returns the workspace and the keys. */
async function createKeys(count: number) {
  const bot = await createBot(system.database);
  const keys = system.createAdminClient(KeyAdminService);
  const publicKeys: string[] = [];
  for (let index = 0; index < count; index++) {
    const { key } = await keys.createKey({ ...botFields(bot), domains: ["a.example"] });
    publicKeys.push(key?.publicKey ?? "");
  }
  return { workspaceId: bot.workspaceId, publicKeys };
}

const lastUses = async (workspaceId: string) =>
  (await system.createAdminClient(KeyAdminService).listKeys({ workspaceId })).keys.map(({ lastUsedOn }) => lastUsedOn);

const daysAgo = (days: number) => new Date(Date.now() - days * 24 * HOUR_MS).toISOString().slice(0, 10);
const today = () => daysAgo(0);

async function setOldUse(workspaceId: string) {
  await system.admin.query("UPDATE conversation.api_keys SET last_used_on = '2020-01-01' WHERE workspace_id = $1", [
    workspaceId,
  ]);
}

test("the list shows the day of a key's last use, and nothing for a key that was not used", async () => {
  const { workspaceId, publicKeys } = await createKeys(2);
  const uses = new KeyUses(system.database);
  const [publicKey = ""] = publicKeys;
  const statements = await recordStatements(system.database, (database) =>
    handleResolveKey({ ...singleShard(database), keyShards, keyUses: [uses] }, { publicKey }),
  );
  expect(statements).toHaveLength(1);
  expect(await lastUses(workspaceId)).toEqual(["", ""]);
  await uses.store();
  expect(await lastUses(workspaceId)).toEqual([today(), ""]);
});

test("the running service stores a use within 15 s", async () => {
  const { workspaceId, publicKeys } = await createKeys(1);
  await system.conversation.resolveKey({ publicKey: publicKeys[0] ?? "" }, { timeoutMs: 2_000 });
  await expect.poll(() => lastUses(workspaceId), { timeout: 20_000, interval: 500 }).toEqual([today()]);
}, 30_000);

test("a replica stores a key's use at most once an hour, and the row changes only on a new day", async () => {
  const { workspaceId, publicKeys } = await createKeys(1);
  const key = { workspaceId, publicKey: publicKeys[0] ?? "" };
  let nowMs = 0;
  const uses = new KeyUses(system.database, () => nowMs);
  /** Returns the statements with which another replica stores a use. */
  const storeInAnotherReplica = () =>
    recordStatements(system.database, async (database) => {
      const otherUses = new KeyUses(database, () => nowMs);
      otherUses.add(key);
      await otherUses.store();
    });
  const readRowVersion = async () =>
    (await system.admin.query("SELECT xmin::text FROM conversation.api_keys WHERE public_key = $1", [key.publicKey]))
      .rows[0].xmin;
  uses.add(key);
  await uses.store();
  const version = await readRowVersion();
  expect(await storeInAnotherReplica()).toHaveLength(1);
  expect(await readRowVersion()).toBe(version);
  await setOldUse(workspaceId);
  nowMs = HOUR_MS - 1;
  uses.add(key);
  await uses.store();
  expect(await lastUses(workspaceId)).toEqual(["2020-01-01"]);
  nowMs = HOUR_MS;
  await uses.store();
  uses.add(key);
  await uses.store();
  expect(await lastUses(workspaceId)).toEqual([today()]);
});

test("store() writes the day of the use, not the day of the store() call, and does not replace a later day", async () => {
  const { workspaceId, publicKeys } = await createKeys(1);
  const key = { workspaceId, publicKey: publicKeys[0] ?? "" };
  let nowMs = 0;
  const uses = new KeyUses(system.database, () => nowMs);
  uses.add(key);
  nowMs = 24 * HOUR_MS;
  uses.add(key);
  const delayedUses = new KeyUses(system.database, () => nowMs);
  delayedUses.add(key);
  nowMs = 48 * HOUR_MS;
  await uses.store();
  expect(await lastUses(workspaceId)).toEqual([daysAgo(1)]);
  nowMs = 96 * HOUR_MS;
  await delayedUses.store();
  expect(await lastUses(workspaceId)).toEqual([daysAgo(1)]);
});

test("store keeps the uses that it failed to store, and the use of a key whose row is locked, for its next call", async () => {
  const { workspaceId, publicKeys } = await createKeys(3);
  const uses = new KeyUses(system.database);
  for (const publicKey of publicKeys) uses.add({ workspaceId, publicKey });
  await system.admin.query("ALTER TABLE conversation.api_keys RENAME TO api_keys_away");
  await expect(uses.store()).rejects.toThrow("api_keys");
  await system.admin.query("ALTER TABLE conversation.api_keys_away RENAME TO api_keys");
  const holder = await system.admin.connect();
  try {
    await holder.query("BEGIN");
    await holder.query("SELECT FROM conversation.api_keys WHERE public_key = $1 FOR UPDATE", [publicKeys[1]]);
    await uses.store();
    expect((await lastUses(workspaceId)).filter((day) => day === today())).toHaveLength(2);
  } finally {
    await holder.query("ROLLBACK");
    holder.release();
  }
  await uses.store();
  expect(await lastUses(workspaceId)).toEqual([today(), today(), today()]);
});
