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
import { chat, exportTranscript, postChat, readChat } from "./system/chat.ts";
import { cliEnv, runCliInProcess } from "./system/cli.ts";
import { queryFirstRow, readBalance } from "./system/database.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system/system.ts";
import { newClientAddress, TRUST_FORWARDED_FOR } from "./system/visitors.ts";

describeWith("redis", "erasure", () => {
  describeWith("debian-postgres", "with pg_dump", () => {
    let postgres: DebianPostgres;
    let redis: TestRedis;
    let system: System;
    let tenant: Tenant;
    beforeAll(async () => {
      [postgres, redis] = await Promise.all([startDebianPostgres(), startRedis()]);
      system = await startSystem({
        databaseServerUrl: postgres.url,
        redisUrl: redis.url,
        env: { edge: TRUST_FORWARDED_FOR },
      });
      tenant = await createTenant(system.admin, { model: "openai:echo" });
    });
    afterAll(async () => {
      await system?.stop();
      await redis?.stop();
      await postgres?.stop();
    });

    /** Searches every place that could hold a visitor's text. Returns the places with the marker, and how many lines or values have it. */
    async function findMarker(marker: string): Promise<Record<string, number>> {
      const services = [...system.edges, system.conversation, system.quota, system.llm];
      const texts: [place: string, lines: string[]][] = [
        ["dump", (await postgres.dump(system.database.url)).split("\n")],
        ["redis", await readRedis(redis.url)],
        ["database log", postgres.log().split("\n")],
        ...services.map((service): [string, string[]] => [service.name, service.outputs().split("\n")]),
      ];
      const counts: [string, number][] = texts.map(([place, lines]) => [place, count(lines, marker)]);
      for (const table of await readTables(system.database.url)) counts.push([table.name, count(table.rows, marker)]);
      return Object.fromEntries(counts.filter(([, n]) => n > 0));
    }

    /**
     * Creates a session with a rated, a long, a blocked and a failed turn. The marker is in every field that a visitor sets. The
     * model `echo` repeats it in its replies.
     */
    async function createMarkedSession(marker: string): Promise<string> {
      const session_id = randomUUID();
      const fields = { session_id, message: `My name is ${marker}.`, visitor_id: marker, visitor_metadata: { marker } };
      const headers = { "user-agent": marker, referer: `https://shop.example/?q=${marker}` };
      const reply = await readChat(await postChat(system.url(), tenant, fields, { headers }));
      expect(reply.text).toContain(marker);
      const rating = { public_key: tenant.publicKey, session_id, message_id: reply.meta?.message_id, rating: "up" };
      const rated = await fetch(`${system.url()}/api/chat/rating/`, {
        method: "POST",
        headers: { "content-type": "application/json", origin: tenant.origin, "x-forwarded-for": newClientAddress() },
        body: JSON.stringify(rating),
      });
      expect(rated.status).toBe(204);
      await system.admin.moderation.addPattern({
        workspaceId: tenant.workspaceId,
        botSlug: tenant.botSlug,
        pattern: "never-say-this",
      });
      // Long and incompressible, so that PostgreSQL stores it in a TOAST table.
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

    test("removes every trace of a session from the dump, all tables, Redis and the logs", async () => {
      const marker = `marker-${randomUUID()}`;
      const sessionId = await createMarkedSession(marker);
      const { done: doneTurns } = await readBalance(system.database);
      expect(doneTurns).toBeGreaterThan(1);
      // Collects the planner's statistics, which must not contain sample values of a visitor's text.
      await queryFirstRow(system.database, "ANALYZE");
      const before = await findMarker(marker);
      expect(new Set(Object.keys(before))).toEqual(new Set(["conversation.messages", "conversation.sessions", "dump"]));

      const env = cliEnv(system);
      const erase = ["conversation", "erase", sessionId, "--workspace", tenant.workspaceId];
      expect(await runCliInProcess(erase, env)).toMatchObject({ code: 0, stderr: "" });
      expect(await findMarker(marker)).toEqual({});

      // The session no longer exists, and the usage stays counted.
      expect((await runCliInProcess(erase, env)).code).toBe(1);
      const response = await exportTranscript(system, tenant, sessionId);
      expect([response.status, await response.json()]).toEqual([404, { detail: "session_not_found" }]);
      expect((await postChat(system.url(), tenant, { session_id: sessionId })).status).toBe(404);
      await expect
        .poll(() => readBalance(system.database), { timeout: 20_000 })
        .toMatchObject({ done: doneTurns, used: doneTurns, ledger: doneTurns, held: 0, unbalanced: 0 });
      // The calls after the erasure have not written the marker again.
      await queryFirstRow(system.database, "ANALYZE");
      expect(await findMarker(marker)).toEqual({});
    });

    test("removes every trace of a session past its retention", async () => {
      const marker = `marker-${randomUUID()}`;
      const sessionId = await createMarkedSession(marker);
      const args = ["workspace", "set", tenant.workspaceId, "--retention", "30m"];
      expect(await runCliInProcess(args, cliEnv(system))).toMatchObject({ code: 0 });
      await queryFirstRow(
        system.database,
        `WITH reply AS (UPDATE conversation.messages SET closed_at = now() - interval '31 minutes' WHERE session_id = $1)
         UPDATE conversation.sessions SET last_activity_at = now() - interval '31 minutes' WHERE session_id = $1`,
        [sessionId],
      );
      const young = await chat(system.url(), tenant, { message: "young" });
      // The retention worker runs at the start and then every minute.
      await system.conversation.stop();
      await system.conversation.start();
      await expect.poll(() => findMarker(marker), { timeout: 30_000, interval: 500 }).toEqual({});
      const { kept } = await queryFirstRow<{ kept: number }>(
        system.database,
        "SELECT count(*)::integer AS kept FROM conversation.messages WHERE session_id = $1",
        [young.meta?.session_id],
      );
      expect(kept).toBe(2);
    });
  });
});

const count = (texts: readonly string[], marker: string) => texts.filter((text) => text.includes(marker)).length;

/** Reads every row of every table as text, including the tables of the system catalogs. */
async function readTables(url: string): Promise<{ name: string; rows: string[] }[]> {
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

async function readRedis(url: string): Promise<string[]> {
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
