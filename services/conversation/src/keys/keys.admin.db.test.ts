import { Code } from "@connectrpc/connect";
import { KeyAdminService } from "@parley/rpc/conversation";
import { describe, expect, test } from "vitest";
import { adminFailure, countResultsOfConcurrentInserts, RFC_3339, useTestSystem } from "../testing/system.ts";
import { botFields, createBot } from "../testing/turns.ts";
import { resolveKey } from "./keys.store.ts";

const system = useTestSystem();

describe("keys", () => {
  test("have normalized domains and are listed oldest first; revoking a key again returns the first revocation; invalid calls are refused", async () => {
    const keys = system.createAdminClient(KeyAdminService);
    const bot = await createBot(system.database);
    const { key } = await keys.createKey({
      ...botFields(bot),
      domains: ["HTTPS://Shop.example:443", "*.shop.example"],
    });
    await keys.createKey({ ...botFields(bot), domains: ["b.example"] });
    expect(key).toMatchObject({
      ...botFields(bot),
      allowedDomains: ["https://shop.example", "*.shop.example"],
      revokedAt: "",
    });
    expect(key?.publicKey).toMatch(/^svc_pk_[0-9A-Za-z]{32}$/);
    expect((await keys.listKeys({ workspaceId: bot.workspaceId })).keys.map((each) => each.allowedDomains)).toEqual([
      ["https://shop.example", "*.shop.example"],
      ["b.example"],
    ]);
    const publicKey = key?.publicKey ?? "";
    const revoked = await keys.revokeKey({ publicKey });
    expect(revoked.key?.revokedAt).toMatch(RFC_3339);
    expect(await keys.revokeKey({ publicKey })).toEqual(revoked);
    expect(await adminFailure(keys.revokeKey({ publicKey: "svc_pk_x" }))).toMatchObject({
      code: Code.NotFound,
      parleyCode: "key_not_found",
    });
    expect(await adminFailure(keys.createKey({ ...botFields(bot), domains: ["*"] }))).toMatchObject({
      code: Code.InvalidArgument,
      message: expect.stringContaining("every site"),
    });
    expect(await adminFailure(keys.updateKey({ publicKey, domains: ["a.example"] }))).toMatchObject({
      code: Code.NotFound,
      parleyCode: "key_not_found",
    });
    expect(
      await adminFailure(keys.createKey({ ...botFields(bot), botSlug: "none", domains: ["a.example"] })),
    ).toMatchObject({
      parleyCode: "bot_not_found",
    });
  });

  test("have a name, which changes without their domains, and which the list and a revocation return", async () => {
    const keys = system.createAdminClient(KeyAdminService);
    const bot = await createBot(system.database);
    const { key } = await keys.createKey({ ...botFields(bot), domains: ["a.example"], name: " Main site " });
    expect(key?.name).toBe("Main site");
    const publicKey = key?.publicKey ?? "";
    const renamed = await keys.updateKey({ publicKey, name: "Shop" });
    expect(renamed.key).toEqual({ ...key, name: "Shop" });
    expect((await keys.updateKey({ publicKey, domains: ["b.example"] })).key).toMatchObject({
      name: "Shop",
      allowedDomains: ["b.example"],
    });
    expect((await keys.listKeys({ workspaceId: bot.workspaceId })).keys).toMatchObject([{ name: "Shop" }]);
    expect((await keys.updateKey({ publicKey, name: "" })).key?.name).toBe("");
    for (const invalid of [{}, { name: "x".repeat(101) }, { name: "a\0" }, { domains: ["*"], name: "a" }])
      expect(await adminFailure(keys.updateKey({ publicKey, ...invalid }))).toMatchObject({
        parleyCode: "invalid_argument",
      });
  });

  test("ask for no challenge, unless they are created or updated with one", async () => {
    const keys = system.createAdminClient(KeyAdminService);
    const bot = await createBot(system.database);
    const create = (challenge?: string) =>
      keys.createKey({ ...botFields(bot), domains: ["a.example"], ...(challenge !== undefined && { challenge }) });
    const resolve = async (publicKey: string) => (await resolveKey(system.database, publicKey))?.challenge;
    const { key } = await create();
    const publicKey = key?.publicKey ?? "";
    expect([key?.challenge, await resolve(publicKey)]).toEqual(["off", "off"]);
    expect((await create("always")).key?.challenge).toBe("always");
    expect((await keys.updateKey({ publicKey, challenge: "suspicious" })).key).toEqual({
      ...key,
      challenge: "suspicious",
    });
    expect(await resolve(publicKey)).toBe("suspicious");
    expect((await keys.updateKey({ publicKey, name: "n", identity: "required" })).key?.challenge).toBe("suspicious");
    expect((await keys.listKeys({ workspaceId: bot.workspaceId })).keys.map(({ challenge }) => challenge)).toEqual([
      "suspicious",
      "always",
    ]);
    for (const challenge of ["sometimes", "Always"]) {
      expect(await adminFailure(create(challenge))).toMatchObject({ parleyCode: "invalid_argument" });
      expect(await adminFailure(keys.updateKey({ publicKey, challenge }))).toMatchObject({
        parleyCode: "invalid_argument",
      });
    }
    await keys.updateKey({ publicKey, challenge: "off" });
    expect(await resolve(publicKey)).toBe("off");
  });

  test("are updated with new domains, but not with invalid domains or another workspace's id", async () => {
    const keys = system.createAdminClient(KeyAdminService);
    const [bot, other] = [await createBot(system.database), await createBot(system.database)];
    const { key } = await keys.createKey({ ...botFields(bot), domains: ["a.example"] });
    const publicKey = key?.publicKey ?? "";
    const domains = ["B.example", "*.b.example", "b.example"];
    const updated = await keys.updateKey({ publicKey, workspaceId: bot.workspaceId, domains });
    expect(updated.key).toEqual({ ...key, allowedDomains: ["b.example", "*.b.example"] });
    expect((await keys.listKeys({ workspaceId: bot.workspaceId })).keys).toEqual([updated.key]);
    expect(await keys.updateKey({ publicKey, domains })).toEqual(updated);
    const refused = keys.updateKey({ publicKey, workspaceId: other.workspaceId, domains: ["c.example"] });
    expect(await adminFailure(refused)).toMatchObject({ parleyCode: "key_not_found" });
    for (const invalid of [
      [],
      ["*"],
      ["ftp://a.example"],
      ["null"],
      Array.from({ length: 101 }, (_, n) => `${n}.example`),
    ])
      expect(await adminFailure(keys.updateKey({ publicKey, domains: invalid }))).toMatchObject({
        parleyCode: "invalid_argument",
      });
    expect((await keys.listKeys({ workspaceId: bot.workspaceId })).keys).toEqual([updated.key]);
  });

  test("are limited to 1,000 active keys per workspace; the list also contains the 1,000 keys that were revoked last", async () => {
    const keys = system.createAdminClient(KeyAdminService);
    const bot = await createBot(system.database);
    const insert = (keyPrefix: string, count: number, revokedAtSql: string) =>
      system.admin.query(
        `INSERT INTO conversation.api_keys (workspace_id, public_key, bot_id, allowed_domains, revoked_at)
         SELECT $1, $3::text || n, $2, '{a.example}', ${revokedAtSql} FROM generate_series(1, $4::integer) n`,
        [bot.workspaceId, bot.id, keyPrefix, count],
      );
    await insert(`r-${bot.id}-`, 1_001, "now() + n * interval '1 second'");
    await insert(`k-${bot.id}-`, 999, "NULL");
    const { key } = await keys.createKey({ ...botFields(bot), domains: ["a.example"] });
    expect(await adminFailure(keys.createKey({ ...botFields(bot), domains: ["a.example"] }))).toMatchObject({
      code: Code.ResourceExhausted,
      parleyCode: "too_many_keys",
      message: expect.stringContaining("at most 1000 keys"),
    });
    const listed = (await keys.listKeys({ workspaceId: bot.workspaceId })).keys.map(({ publicKey }) => publicKey);
    expect(listed).toHaveLength(2_000);
    expect(listed).not.toContain(`r-${bot.id}-1`);
    await keys.revokeKey({ publicKey: key?.publicKey ?? "" });
    await keys.createKey({ ...botFields(bot), domains: ["a.example"] });
  });

  test("are not created beyond the limit by concurrent calls", async () => {
    const keys = system.createAdminClient(KeyAdminService);
    const bot = await createBot(system.database);
    await system.admin.query(
      `INSERT INTO conversation.api_keys (workspace_id, public_key, bot_id, allowed_domains)
       SELECT $1, 'c-' || $1 || n, $2, '{a.example}' FROM generate_series(1, 999) n`,
      [bot.workspaceId, bot.id],
    );
    const create = () => keys.createKey({ ...botFields(bot), domains: ["a.example"] });
    expect(await countResultsOfConcurrentInserts(system.admin, "conversation.api_keys", create)).toEqual({
      ok: 1,
      too_many_keys: 19,
    });
  });

  test("are not created if the bot is deleted after the check that it exists: the call fails with bot_not_found", async () => {
    const bot = await createBot(system.database);
    const connection = await system.admin.connect();
    await connection.query("BEGIN");
    // CreateKey checks that the bot exists, and then waits for this lock.
    await connection.query("SELECT pg_advisory_xact_lock(hashtext('parley.workspace'), hashtext($1))", [
      bot.workspaceId,
    ]);
    const creating = adminFailure(
      system.createAdminClient(KeyAdminService).createKey({ ...botFields(bot), domains: ["a.example"] }),
    );
    const waiting = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    await expect.poll(async () => (await system.admin.query(waiting)).rowCount, { timeout: 10_000 }).toBe(1);
    await connection.query("DELETE FROM conversation.bots WHERE workspace_id = $1", [bot.workspaceId]);
    await connection.query("COMMIT");
    connection.release();
    expect(await creating).toMatchObject({ code: Code.NotFound, parleyCode: "bot_not_found" });
  });
});
