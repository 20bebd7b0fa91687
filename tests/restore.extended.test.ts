import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type DebianPostgres, describeWith, isFullRun, startDebianPostgres } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chat } from "./system/chat.ts";
import { cliEnv, runCliInChildProcess } from "./system/cli.ts";
import { queryFirstRow, readBalance } from "./system/database.ts";
import { root, runMigrations, SERVICE_ROLE_PASSWORD } from "./system/processes.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system/system.ts";

const ADMIN = "parley_admin";

describeWith("debian-postgres", "the database commands of docs/install/backup.md", () => {
  let postgres: DebianPostgres;
  let directory: string;
  let system: System;
  let tenant: Tenant;
  const stops: (() => Promise<unknown>)[] = [];
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), "parley-restore-"));
    stops.push(() => rm(directory, { recursive: true }));
    postgres = await startDebianPostgres();
    stops.push(() => postgres.stop());
    await createDatabaseAndAdmin();
    await migrate();
    // Only the tests' own queries connect as the superuser. The services connect with their own roles.
    system = await startSystem({ database: { name: "parley", url: superuserUrl(), drop: async () => undefined } });
    stops.push(() => system.stop());
    tenant = await createTenant(system.admin);
  });
  afterAll(async () => {
    for (const stop of stops.reverse()) await stop();
  });

  function superuserUrl(): string {
    return Object.assign(new URL(postgres.url), { pathname: "/parley" }).href;
  }

  async function createDatabaseAndAdmin(): Promise<void> {
    const sql = await findBlock("database.md", "sql", "CREATEROLE PASSWORD");
    for (const statement of sql.replace("'…'", `'${SERVICE_ROLE_PASSWORD}'`).split(/;\n/)) {
      if (statement !== "") await queryFirstRow({ url: postgres.url }, statement);
    }
  }

  /** Runs the migrations like the chart's Job. */
  async function migrate(): Promise<void> {
    const url = Object.assign(new URL(superuserUrl()), { username: ADMIN, password: SERVICE_ROLE_PASSWORD }).href;
    for (const service of ["conversation", "quota", "llm-proxy"] as const)
      await runMigrations(service, url, SERVICE_ROLE_PASSWORD);
  }

  async function run(commands: string): Promise<string> {
    const { hostname: PGHOST, port: PGPORT } = new URL(postgres.url);
    const { stdout } = await promisify(execFile)("bash", ["-euo", "pipefail", "-c", commands], {
      cwd: directory,
      env: {
        PATH: process.env.PATH,
        PGHOST,
        PGPORT,
        PGDATABASE: "parley",
        PGUSER: ADMIN,
        PGPASSWORD: SERVICE_ROLE_PASSWORD,
      },
    });
    return stdout;
  }

  /** Dumps the schema with owners and privileges. Removes the lines \restrict and \unrestrict, in which pg_dump writes a random key. */
  async function dumpSchema(): Promise<string> {
    return (await run("pg_dump --schema-only")).replaceAll(/^\\(un)?restrict .*$/gm, "");
  }

  async function runWhileStopped(work: () => Promise<void>): Promise<void> {
    const services = [...system.edges, system.conversation, system.llm, system.quota];
    for (const service of services) await service.stop();
    await work();
    await Promise.all(services.map((service) => service.start()));
  }

  /** Gets one more reply. Expects that `replies` replies are then counted in total, and that usage reconciles. */
  async function expectReplyAndBalancedUsage(replies: number): Promise<void> {
    // After a restart a reply fails, and is not counted, until the edge is connected to each service.
    await expect
      .poll(async () => (await chat(system.url(), tenant)).done?.finish_reason, { timeout: 10_000 })
      .toBe("stop");
    await expect
      .poll(() => readBalance(system.database), { timeout: 20_000 })
      .toMatchObject({ done: replies, used: replies, ledger: replies, held: 0, outbox: 0, unbalanced: 0 });
    expect(await runCliInChildProcess(["usage-audit", "--check"], cliEnv(system))).toMatchObject({ code: 0 });
  }

  test.runIf(isFullRun)(
    "restore a dump without superuser rights: over newer data, and into a new database after the database and its roles are lost",
    async () => {
      await expectReplyAndBalancedUsage(1);
      const before = await dumpSchema();
      await run(await findBlock("backup.md", "sh", "pg_dump"));
      const restore = await findBlock("backup.md", "sh", "pg_restore");

      // The restore must remove the second turn, and a table that a newer version of Parley might have added.
      await expectReplyAndBalancedUsage(2);
      await run("psql --command='CREATE TABLE quota.next_things (workspace_id text REFERENCES quota.workspaces)'");
      await runWhileStopped(async () => {
        await run(restore);
        await migrate();
      });
      expect(await dumpSchema()).toBe(before);
      await expectReplyAndBalancedUsage(2);

      await runWhileStopped(async () => {
        await queryFirstRow({ url: postgres.url }, "DROP DATABASE parley WITH (FORCE)");
        await queryFirstRow({ url: postgres.url }, `DROP ROLE parley_conversation, parley_quota, parley_llm, ${ADMIN}`);
        await createDatabaseAndAdmin();
        await run(restore);
        await migrate();
      });
      expect(await dumpSchema()).toBe(before);
      await expectReplyAndBalancedUsage(2);
    },
    180_000,
  );
});

/** Returns the code block that contains `text` in a page of docs/install. Throws unless exactly one block does. */
async function findBlock(page: string, language: string, text: string): Promise<string> {
  const markdown = await readFile(join(root, "docs/install", page), "utf8");
  const blocks = [...markdown.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, "gm"))];
  const [found, another] = blocks.flatMap(([, block = ""]) => (block.includes(text) ? [block] : []));
  if (found === undefined || another !== undefined)
    throw new Error(`${page} needs exactly one ${language} block with ${text}`);
  return found;
}
