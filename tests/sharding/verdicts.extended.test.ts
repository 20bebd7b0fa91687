import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { queryRows } from "@parley/test-support";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runShards, type ShardServers, startConfiguredRouter, startShardServers } from "./shard-servers.ts";

// Sends the recorded statements to PgDog, with the configuration that `parley shards config` prints. With PARLEY_TEST_STATEMENTS=file, each PgDog of
// the tests appends its statements to the file, and this test records the verdicts anew, with those of the statements in the file.

const RECORD = fileURLToPath(new URL("../support/src/shard-router/verdicts.json", import.meta.url));
type Verdicts = { routed: string[]; refused: string[] };

const { PARLEY_TEST_PGDOG: pgdog, PARLEY_TEST_STATEMENTS: statementsFile } = process.env;

/** Returns the statements that have a table of Parley, without their line breaks. */
async function readStatements(file: string): Promise<string[]> {
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  const statements = lines.map((line) => (JSON.parse(line) as string).replaceAll(/\s+/g, " ").trim());
  return statements.filter((statement) => /\b(conversation|quota|llm)\./.test(statement));
}

describe.runIf(pgdog)("PgDog", () => {
  let shards: ShardServers;
  let dir: string;
  const clients = new Map<string, pg.Client>();
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "parley-verdicts-"));
    shards = await startShardServers(["a", "b"]);
    await runShards(shards.env, "shards", "init");
    await startConfiguredRouter(shards, shards.env, dir);
    await runShards(shards.env, "migrate");
    await queryRows(shards.env.PARLEY_ROUTER_ADMIN_URLS ?? "", "RELOAD");
  });
  afterAll(async () => {
    for (const client of clients.values()) await client.end();
    await shards[Symbol.asyncDispose]();
    await rm(dir, { recursive: true });
  });

  async function clientOf(role: string): Promise<pg.Client> {
    const known = clients.get(role);
    if (known !== undefined) return known;
    const client = new pg.Client({ connectionString: shards.routerUrlOf(role) });
    await client.connect();
    clients.set(role, client);
    return client;
  }

  /** Sends a statement whose parameters are all 1, the only value that PgDog accepts for LIMIT. A server's error shows that a shard received the statement. */
  async function isRouted(statement: string): Promise<boolean> {
    const [, schema = "quota"] = /\b(conversation|quota|llm)\./.exec(statement) ?? [];
    const parameters = Array.from(statement.matchAll(/\$(\d+)/g), ([, number]) => Number(number));
    const values = Array.from({ length: Math.max(0, ...parameters) }, () => "1");
    const client = await clientOf(`parley_${schema}`);
    try {
      await client.query(statement, values);
      return true;
    } catch (error) {
      if (!(error instanceof pg.DatabaseError)) throw error;
      if (error.code === "58000" && !/cross-shard/.test(error.message)) throw error;
      return error.code !== "58000";
    }
  }

  test("routes and refuses the recorded statements as recorded", async () => {
    const recorded = JSON.parse(await readFile(RECORD, "utf8")) as Verdicts;
    const further = statementsFile ? await readStatements(statementsFile) : [];
    const verdicts: Verdicts = { routed: [], refused: [] };
    for (const statement of new Set([...recorded.routed, ...recorded.refused, ...further]))
      verdicts[(await isRouted(statement)) ? "routed" : "refused"].push(statement);
    if (statementsFile) await writeFile(RECORD, `${JSON.stringify(verdicts, null, 2)}\n`);
    else expect(verdicts).toEqual(recorded);
  }, 300_000);
});
