import { randomUUID } from "node:crypto";
import {
  type DebianPostgres,
  describeWith,
  startDebianPostgres,
  startRedis,
  type TestRedis,
} from "@parley/test-support";
import { Redis } from "ioredis";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { query, readBalance } from "./system/database.ts";
import { chat, postChat, readChat } from "./system/chat.ts";
import { cliEnv, runCli } from "./system/cli.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system/system.ts";
import { newAddress, TRUST_TEST_PROXY } from "./system/visitors.ts";

describeWith("redis", "erasure", () => {
  describeWith("debian-postgres", "on a database that can be dumped", () => {
    let postgres: DebianPostgres;
    let redis: TestRedis;
    let system: System;
    let tenant: Tenant;
    beforeAll(async () => {
      [postgres, redis] = await Promise.all([startDebianPostgres(), startRedis()]);
      system = await startSystem({
        databaseServerUrl: postgres.url,
        redisUrl: redis.url,
        env: { edge: TRUST_TEST_PROXY },
      });
      tenant = await createTenant(system.admin, { model: "openai:echo" });
    });
    afterAll(async () => {
      await system?.stop();
      await redis?.stop();
      await postgres?.stop();
    });

    /** All places that could hold a text, and how many of their lines or values do. */
    async function placesWith(marker: string): Promise<Record<string, number>> {
      const services = [...system.edges, system.conversation, system.quota, system.llm];
      const texts: [place: string, lines: string[]][] = [
        ["dump", (await postgres.dump(system.database.url)).split("\n")],
        ["redis", await everythingIn(redis.url)],
        ["database log", postgres.log().split("\n")],
        ...services.map((service): [string, string[]] => [service.name, service.outputs().split("\n")]),
      ];
      const counts: [string, number][] = texts.map(([place, lines]) => [place, count(lines, marker)]);
      for (const table of await tablesOf(system.database.url)) counts.push([table.name, count(table.rows, marker)]);
      return Object.fromEntries(counts.filter(([, found]) => found > 0));
    }

    /** A conversation with a marker in whatever a visitor can send and a model can say; answered, failed, left and rated. */
    async function talk(marker: string): Promise<string> {
      const session_id = randomUUID();
      const fields = { session_id, message: `My name is ${marker}.`, visitor_id: marker, visitor_metadata: { marker } };
      const headers = { "user-agent": marker, referer: `https://shop.example/?q=${marker}` };
      const reply = await readChat(await postChat(system.url(), tenant, fields, { headers }));
      expect(reply.text).toContain(marker);
      const rating = { public_key: tenant.publicKey, session_id, message_id: reply.meta?.message_id, rating: "up" };
      const rated = await fetch(`${system.url()}/api/chat/rating/`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: tenant.origin, "x-forwarded-for": newAddress() },
        body: JSON.stringify(rating),
      });
      expect(rated.status).toBe(204);
      await system.admin.moderation.addPattern({
        workspaceId: tenant.workspaceId,
        botSlug: tenant.botSlug,
        pattern: "never-say-this",
      });
      // Long enough that the database keeps it elsewhere than in the row, and what looks random is not packed.
      const long = `${marker} ${Array.from({ length: 100 }, () => randomUUID()).join(" ")}`;
      await readChat(await postChat(system.url(), tenant, { ...fields, message: long }, { headers }));
      await readChat(
        await postChat(system.url(), tenant, { ...fields, message: `never-say-this ${marker}` }, { headers }),
      );
      await system.llm.kill9();
      await readChat(await postChat(system.url(), tenant, fields, { headers }));
      await system.llm.start();
      return session_id;
    }

    test("a marker in an erased conversation is found 0 times in a dump, in any table, in Redis and in every log", async () => {
      const marker = `marker-${randomUUID()}`;
      const sessionId = await talk(marker);
      const { done: answered } = await readBalance(system.database);
      expect(answered).toBeGreaterThan(1);
      // The planner's statistics are made of what the tables hold.
      await query(system.database, "ANALYZE");
      const before = await placesWith(marker);
      expect(new Set(Object.keys(before))).toEqual(new Set(["conversation.messages", "conversation.sessions", "dump"]));

      const env = cliEnv(system);
      const erase = ["conversation", "erase", sessionId, "--workspace", tenant.workspaceId];
      expect(await runCli(erase, env)).toMatchObject({ code: 0, stderr: "" });
      expect(await placesWith(marker)).toEqual({});

      // Who asks again is told that there is none; what was counted stays counted.
      expect((await runCli(erase, env)).code).toBe(1);
      const token = await system.sso.token({ workspaceId: tenant.workspaceId });
      const download = await fetch(`${system.url()}/api/conversations/${sessionId}/export.json`, {
        headers: { authorization: `Bearer ${token}` },
      });
      expect([download.status, await download.json()]).toEqual([404, { detail: "session_not_found" }]);
      expect((await postChat(system.url(), tenant, { session_id: sessionId })).status).toBe(404);
      await expect
        .poll(() => readBalance(system.database), { timeout: 20_000 })
        .toMatchObject({ done: answered, used: answered, ledger: answered, held: 0, unbalanced: 0 });
      // Nor did any of this write it anew.
      await query(system.database, "ANALYZE");
      expect(await placesWith(marker)).toEqual({});
    });

    test("what a workspace does not keep any longer is erased the same way", async () => {
      const marker = `marker-${randomUUID()}`;
      const sessionId = await talk(marker);
      const args = ["workspace", "set", tenant.workspaceId, "--retention-days", "30"];
      expect(await runCli(args, cliEnv(system))).toMatchObject({ code: 0 });
      await query(
        system.database,
        "UPDATE conversation.sessions SET last_activity_at = now() - interval '31 days' WHERE session_id = $1",
        [sessionId],
      );
      const young = await chat(system.url(), tenant, { message: "young" });
      // It looks when it starts, and then once an hour.
      await system.conversation.stop();
      await system.conversation.start();
      await expect.poll(() => placesWith(marker), { timeout: 30_000, interval: 500 }).toEqual({});
      const { kept } = await query<{ kept: number }>(
        system.database,
        "SELECT count(*)::integer AS kept FROM conversation.messages WHERE session_id = $1",
        [young.meta?.session_id],
      );
      expect(kept).toBe(2);
    });
  });
});

const count = (texts: readonly string[], marker: string) => texts.filter((text) => text.includes(marker)).length;

/** Every row of every table of the database, the catalogs too, as text. */
async function tablesOf(url: string): Promise<{ name: string; rows: string[] }[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `SELECT format('%I.%I', nspname, relname) AS name
       FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
       WHERE relkind IN ('r', 'm', 'p') AND nspname NOT LIKE 'pg\\_toast%'`,
    );
    const contents = [];
    for (const { name } of tables) {
      const { rows } = await client.query<{ text: string }>(`SELECT t::text AS text FROM ${name} t`);
      contents.push({ name, rows: rows.map((row) => row.text) });
    }
    return contents;
  } finally {
    await client.end();
  }
}

/** Every key and value, in whatever form. */
async function everythingIn(url: string): Promise<string[]> {
  const redis = new Redis(url);
  try {
    const found: string[] = [];
    for await (const keys of redis.scanStream() as AsyncIterable<string[]>) {
      for (const key of keys) found.push(key, ((await redis.dumpBuffer(key)) ?? Buffer.alloc(0)).toString("latin1"));
    }
    return found;
  } finally {
    redis.disconnect();
  }
}
