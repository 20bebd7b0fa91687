import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeLocalPostgres, startLocalPostgres } from "@parley/local-postgres";
import { migrate } from "@parley/service-kit/migrations";
import { describeWith, freePort, isFullRun, startDebianPostgres } from "@parley/test-support";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { migrateAsProcess, root, type ServiceWithDatabase } from "../system/processes.ts";
import { listMigrations } from "./next-version.ts";

// These tests run the SQL of docs/install/database.md. Each suite starts its own server, because roles belong to the whole server.

const SERVICES = [
  ["conversation", "conversation"],
  ["quota", "quota"],
  ["llm-proxy", "llm"],
] as const satisfies [ServiceWithDatabase, string][];

type Server = {
  /** URL of the database `postgres` for a superuser. */
  url: string;
  log(): Promise<string>;
  /** Undefined if the server has no psql. */
  psql?(url: string, sql: string): Promise<string>;
  stop(): Promise<void>;
};

async function startNpmPostgres(): Promise<Server> {
  const directory = await mkdtemp(join(tmpdir(), "parley-test-"));
  const dataDir = join(directory, "data");
  const password = randomBytes(16).toString("hex");
  const server = await startLocalPostgres({ dataDir, password, port: await freePort(), fast: true });
  return {
    url: server.url,
    log: () => readFile(join(server.dataDir, "postgres.log"), "utf8"),
    async stop() {
      await removeLocalPostgres({ dataDir });
      await rm(directory, { recursive: true });
    },
  };
}

async function startDebianServer(): Promise<Server> {
  const server = await startDebianPostgres();
  return { ...server, log: () => Promise.resolve(server.log()) };
}

describe("migrate.ts on PostgreSQL from npm", () => defineTests(startNpmPostgres));
if (isFullRun)
  describeWith("debian-postgres", "migrate.ts on Debian's PostgreSQL", () => defineTests(startDebianServer));

function defineTests(start: () => Promise<Server>): void {
  const password = `${randomBytes(8).toString("hex")} of 'the\\tests'`;
  const passwordLiteral = pg.escapeLiteral(password).trim();
  let server: Server;
  let page: string;
  beforeAll(async () => {
    page = await readFile(`${root}docs/install/database.md`, "utf8");
    server = await start();
    // Amazon RDS and Cloud SQL provide a role like this instead of a superuser.
    await runSql(server.url, `CREATE ROLE master LOGIN CREATEROLE CREATEDB PASSWORD ${passwordLiteral}`);
  });
  afterAll(() => server.stop());
  afterEach(async () => {
    await runSql(server.url, "DROP DATABASE IF EXISTS parley WITH (FORCE)");
    await runSql(server.url, "DROP ROLE IF EXISTS parley_conversation, parley_quota, parley_llm, parley_admin");
  });

  /** Returns the SQL blocks of a section of the page, with the tests' password. */
  function sqlOf(heading: string): string[] {
    const [, section = ""] = page.split(new RegExp(`^## ${heading}$`, "m"));
    const blocks = [...(section.split(/^## /m)[0] ?? "").matchAll(/^ *```sql\n([\s\S]*?)^ *```$/gm)];
    if (blocks.length === 0) throw new Error(`no SQL in section ${heading}`);
    return blocks.map(([, sql = ""]) => sql.replaceAll("'…'", () => passwordLiteral));
  }

  function urlOf(user: string, database = "parley", secret = password): string {
    const url = new URL(server.url);
    [url.username, url.password, url.pathname] = [user, encodeURIComponent(secret), `/${database}`];
    return url.href;
  }

  const superuserUrl = () => Object.assign(new URL(server.url), { pathname: "/parley" }).href;

  function migrateAll(url: string, rolePassword: string | undefined) {
    return Promise.all(SERVICES.map(([service]) => migrateAsProcess(service, url, rolePassword)));
  }

  /** Migrates `times` times, and checks that only the first run applies migrations. */
  async function migrateAndCheck(url: string, rolePassword: string | undefined, times = 2): Promise<void> {
    for (let time = 1; time <= times; time++) {
      for (const { code, stdout, stderr } of await migrateAll(url, rolePassword)) {
        expect([code, stderr]).toEqual([0, ""]);
        expect(stdout).toMatch(time === 1 ? /: applied / : /: up to date\n$/);
      }
    }
  }

  /** Checks that each service's role can log in, reads only its own schema and has its statement timeout. */
  async function expectUsable(rolePassword = password): Promise<void> {
    for (const [, schema] of SERVICES) {
      const own = urlOf(`parley_${schema}`, "parley", rolePassword);
      expect(await runSql(own, "SHOW statement_timeout")).toEqual([{ statement_timeout: "10s" }]);
      for (const [, other] of SERVICES) {
        const read = runSql(own, `SELECT FROM ${other}.migrations`);
        if (other === schema) await read;
        else await expect(read).rejects.toThrow("permission denied");
      }
      if (server.psql) expect(await server.psql(own, "SELECT current_user")).toBe(`parley_${schema}`);
    }
  }

  test("lets an administrator who owns the database migrate repeatedly and change the passwords", async () => {
    const [sql = ""] = sqlOf("PostgreSQL");
    await runSql(urlOf("master", "postgres"), sql);
    await migrateAndCheck(urlOf("parley_admin"), password);
    await expectUsable();
    for (const { code } of await migrateAll(urlOf("parley_admin"), `new ${password}`)) expect(code).toBe(0);
    await expectUsable(`new ${password}`);
    await expect(runSql(urlOf("parley_quota"), "SELECT")).rejects.toThrow("password authentication failed");
  });

  test("migrates a database that a superuser owns if the administrator may create schemas, and reports a missing GRANT CONNECT", async () => {
    const [sql = "", grant = ""] = sqlOf("PostgreSQL");
    await runSql(server.url, sql);
    await runSql(
      server.url,
      "ALTER DATABASE parley OWNER TO postgres; REVOKE ALL ON DATABASE parley FROM parley_admin",
    );
    await runSql(server.url, grant);
    await migrateAndCheck(urlOf("parley_admin"), password);
    await expectUsable();
    await runSql(server.url, "REVOKE CONNECT ON DATABASE parley FROM PUBLIC");
    const refused = await migrateAll(urlOf("parley_admin"), password);
    for (const [index, [, schema]] of SERVICES.entries()) {
      expect(refused[index]?.code).toBe(1);
      const statement = `GRANT CONNECT ON DATABASE parley TO parley_${schema};`;
      expect(refused[index]?.stderr).toMatch(new RegExp(`^${schema}: cannot migrate: .*: ${statement}\n$`));
      await runSql(server.url, statement);
    }
    for (const { code, stdout, stderr } of await migrateAll(urlOf("parley_admin"), password)) {
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout).toMatch(/: up to date\n$/);
    }
    await expectUsable();
  });

  test("migrates without passwords when the roles exist with their timeouts, and refuses a role without a statement_timeout", async () => {
    const [sql = ""] = sqlOf("Roles that you create yourself");
    await runSql(urlOf("master", "postgres"), sql);
    await migrateAndCheck(urlOf("parley_admin"), undefined);
    await expectUsable();
    await runSql(server.url, "ALTER ROLE parley_quota RESET statement_timeout");
    const { code, stderr } = await migrateAsProcess("quota", urlOf("parley_admin"));
    expect([code, stderr]).toEqual([
      78,
      "quota: cannot migrate: role parley_quota has no statement_timeout; run as a role that may alter it: " +
        `ALTER ROLE "parley_quota" SET statement_timeout = '10s';\n`,
    ]);
  });

  test("lets an administrator take over from a superuser and run the next version's migrations", async () => {
    await runSql(server.url, `CREATE DATABASE parley`);
    await migrateAndCheck(superuserUrl(), password, 1);
    await runSql(server.url, `CREATE ROLE parley_admin LOGIN CREATEROLE PASSWORD ${passwordLiteral}`);
    const [sql = ""] = sqlOf("From a superuser to an administrator");
    await runSql(superuserUrl(), sql);
    for (const { stdout, stderr } of await migrateAll(urlOf("parley_admin"), password)) {
      expect(`${stdout}${stderr}`).toMatch(/^\w+: up to date\n$/);
    }
    for (const [, schema] of SERVICES) {
      const { currentMigrations, nextMigrations } = await listMigrations({ url: superuserUrl() }, schema);
      const target = {
        url: urlOf("parley_admin"),
        schema,
        role: `parley_${schema}`,
        migrations: [...currentMigrations, ...nextMigrations],
      };
      expect((await migrate(target)).applied).toEqual(nextMigrations.map(({ name }) => name));
    }
    await expectUsable();
  });

  test("writes no password to the server's log or to an error, even when the server refuses ALTER ROLE", async () => {
    const [sql = ""] = sqlOf("PostgreSQL");
    await runSql(server.url, sql);
    await migrateAndCheck(urlOf("parley_admin"), password, 1);
    await runSql(server.url, "ALTER ROLE parley_admin NOCREATEROLE");
    // Not the process, because its preflight would find the missing privilege before the server gets a statement.
    const refused = SERVICES.map(([, schema]) =>
      migrate({
        url: urlOf("parley_admin"),
        schema,
        role: `parley_${schema}`,
        rolePassword: password,
        migrations: [],
      }).then(String, (error: Error) => error.message),
    );
    const readLogged = async () =>
      [...(await server.log()).matchAll(/ALTER ROLE .* PASSWORD .*/g)].map(([statement]) => statement);
    // The server's output may arrive after the migrations have ended.
    await expect.poll(readLogged, { timeout: 10_000 }).toHaveLength(SERVICES.length);
    const log = await server.log();
    for (const secret of [password, passwordLiteral, password.slice(0, 16)]) expect(log).not.toContain(secret);
    for (const statement of await readLogged()) expect(statement).toMatch(/ PASSWORD 'SCRAM-SHA-256\$[^']+'$/);
    for (const message of await Promise.all(refused)) {
      expect(message).toMatch(/; run as a superuser: ALTER ROLE "parley_admin" CREATEROLE;$/);
      expect(message).not.toMatch(/SCRAM|PASSWORD/);
      expect(message).not.toContain(password);
    }
  });
}

/** Returns the rows of the last statement. Sends CREATE DATABASE separately, because it cannot run in a transaction. */
async function runSql(url: string, sql: string): Promise<object[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    let rows: object[] = [];
    for (const part of sql.split(/^(?=CREATE DATABASE)/m)) rows = [await client.query(part)].flat().at(-1)?.rows ?? [];
    return rows;
  } finally {
    await client.end();
  }
}
