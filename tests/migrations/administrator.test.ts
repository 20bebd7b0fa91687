import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeLocalPostgres, startLocalPostgres } from "@parley/local-postgres";
import { migrate } from "@parley/service-kit";
import { describeWith, freePort, startDebianPostgres } from "@parley/test-support";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type DatabaseService, migrateAsProcess, root } from "../system/processes.ts";
import { versionsOf } from "./next-version.ts";

// What docs/install/database.md says to run, on servers of their own: roles belong to the whole server.

const SERVICES = [
  ["conversation", "conversation"],
  ["quota", "quota"],
  ["llm-proxy", "llm"],
] as const satisfies [DatabaseService, string][];

type Server = {
  /** A superuser's, of the database `postgres`. */
  url: string;
  log(): Promise<string>;
  /** Logs in with libpq, where the server comes with psql. */
  psql?(url: string, sql: string): Promise<string>;
  stop(): Promise<void>;
};

async function startPackaged(): Promise<Server> {
  const directory = await mkdtemp(join(tmpdir(), "parley-test-"));
  const dataDir = join(directory, "data");
  const password = randomBytes(16).toString("hex");
  const server = await startLocalPostgres({ dataDir, password, port: await freePort(), fast: true });
  return {
    url: server.url,
    log: () => readFile(join(server.dataDir, "postgres.log"), "utf8"),
    async stop() {
      await removeLocalPostgres(dataDir);
      await rm(directory, { recursive: true });
    },
  };
}

async function startDebian(): Promise<Server> {
  const server = await startDebianPostgres();
  return { ...server, log: () => Promise.resolve(server.log()) };
}

describe("the packaged PostgreSQL", () => suite(startPackaged));
describeWith("debian-postgres", "Debian's PostgreSQL", () => suite(startDebian));

function suite(start: () => Promise<Server>): void {
  const password = `${randomBytes(8).toString("hex")} of 'the\\tests'`;
  const literal = pg.escapeLiteral(password).trim();
  let server: Server;
  let page: string;
  beforeAll(async () => {
    page = await readFile(`${root}docs/install/database.md`, "utf8");
    server = await start();
    // What RDS and Cloud SQL give instead of a superuser.
    await run(server.url, `CREATE ROLE master LOGIN CREATEROLE CREATEDB PASSWORD ${literal}`);
  });
  afterAll(() => server.stop());
  afterEach(async () => {
    await run(server.url, "DROP DATABASE IF EXISTS parley WITH (FORCE)");
    await run(server.url, "DROP ROLE IF EXISTS parley_conversation, parley_quota, parley_llm, parley_admin");
  });

  /** The SQL of a section, in its order, with the tests' password. */
  function sqlOf(heading: string): string[] {
    const [, section = ""] = page.split(new RegExp(`^## ${heading}$`, "m"));
    const blocks = [...(section.split(/^## /m)[0] ?? "").matchAll(/^ *```sql\n([\s\S]*?)^ *```$/gm)];
    if (blocks.length === 0) throw new Error(`no SQL below ${heading}`);
    return blocks.map(([, sql = ""]) => sql.replaceAll("'…'", () => literal));
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

  async function expectMigrated(url: string, rolePassword: string | undefined, times = 3): Promise<void> {
    for (let time = 1; time <= times; time++) {
      for (const { code, stdout, stderr } of await migrateAll(url, rolePassword)) {
        expect([code, stderr]).toEqual([0, ""]);
        expect(stdout).toMatch(time === 1 ? /: applied / : /: up to date\n$/);
      }
    }
  }

  /** Each service's role reads its own schema and no other, and has its timeouts, whichever library it logs in with. */
  async function expectUsable(rolePassword = password): Promise<void> {
    for (const [, schema] of SERVICES) {
      const own = urlOf(`parley_${schema}`, "parley", rolePassword);
      expect(await run(own, "SHOW statement_timeout")).toEqual([{ statement_timeout: "10s" }]);
      for (const [, other] of SERVICES) {
        const reading = run(own, `SELECT FROM ${other}.migrations`);
        if (other === schema) await reading;
        else await expect(reading).rejects.toThrow("permission denied");
      }
      if (server.psql) expect(await server.psql(own, "SELECT current_user")).toBe(`parley_${schema}`);
    }
  }

  test("an administrator who owns the database migrates again and again, and changes the passwords", async () => {
    const [sql = ""] = sqlOf("PostgreSQL, Amazon RDS and Cloud SQL");
    await run(urlOf("master", "postgres"), sql);
    await expectMigrated(urlOf("parley_admin"), password);
    await expectUsable();
    for (const { code } of await migrateAll(urlOf("parley_admin"), `new ${password}`)) expect(code).toBe(0);
    await expectUsable(`new ${password}`);
    await expect(run(urlOf("parley_quota"), "SELECT")).rejects.toThrow("password authentication failed");
  });

  test("the same SQL serves a superuser, and an administrator who may only create schemas", async () => {
    const [sql = "", grant = ""] = sqlOf("PostgreSQL, Amazon RDS and Cloud SQL");
    await run(server.url, sql);
    await run(server.url, "ALTER DATABASE parley OWNER TO postgres; REVOKE ALL ON DATABASE parley FROM parley_admin");
    await run(server.url, grant);
    await expectMigrated(urlOf("parley_admin"), password);
    await expectUsable();
    await run(server.url, "REVOKE CONNECT ON DATABASE parley FROM PUBLIC");
    const refused = await migrateAll(urlOf("parley_admin"), password);
    for (const [at, [, schema]] of SERVICES.entries()) {
      expect(refused[at]?.code).toBe(1);
      const statement = `GRANT CONNECT ON DATABASE parley TO parley_${schema};`;
      expect(refused[at]?.stderr).toMatch(new RegExp(`^${schema}: cannot migrate: .*: ${statement}\n$`));
      await run(server.url, statement);
    }
    for (const { code, stdout, stderr } of await migrateAll(urlOf("parley_admin"), password)) {
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout).toMatch(/: up to date\n$/);
    }
    await expectUsable();
  });

  test("roles made by hand with their timeouts need no password of the migrations", async () => {
    const [sql = ""] = sqlOf("Roles that you create yourself");
    await run(urlOf("master", "postgres"), sql);
    await expectMigrated(urlOf("parley_admin"), undefined);
    await expectUsable();
    await run(server.url, "ALTER ROLE parley_quota RESET statement_timeout");
    const { code, stderr } = await migrateAsProcess("quota", urlOf("parley_admin"));
    expect([code, stderr]).toEqual([
      1,
      "quota: cannot migrate: role parley_quota has no statement_timeout; run as a role that may alter it: " +
        `ALTER ROLE "parley_quota" SET statement_timeout = '10s';\n`,
    ]);
  });

  test("an administrator takes over from a superuser, down to the next version's changes", async () => {
    await run(server.url, `CREATE DATABASE parley`);
    await expectMigrated(superuserUrl(), password, 1);
    await run(server.url, `CREATE ROLE parley_admin LOGIN CREATEROLE PASSWORD ${literal}`);
    const [sql = ""] = sqlOf("From a superuser to an administrator");
    await run(superuserUrl(), sql);
    for (const { stdout, stderr } of await migrateAll(urlOf("parley_admin"), password)) {
      expect(`${stdout}${stderr}`).toMatch(/^\w+: up to date\n$/);
    }
    for (const [, schema] of SERVICES) {
      const { now, next } = await versionsOf({ url: superuserUrl() }, schema);
      const target = { url: urlOf("parley_admin"), schema, role: `parley_${schema}`, migrations: [...now, ...next] };
      expect((await migrate(target)).applied).toEqual(next.map(({ name }) => name));
    }
    await expectUsable();
  });

  test("no password is in the server's log or in an error, also when the server refuses the statement", async () => {
    const [sql = ""] = sqlOf("PostgreSQL, Amazon RDS and Cloud SQL");
    await run(server.url, sql);
    await expectMigrated(urlOf("parley_admin"), password, 1);
    await run(server.url, "ALTER ROLE parley_admin NOCREATEROLE");
    const refused = await migrateAll(urlOf("parley_admin"), password);
    const log = await server.log();
    for (const form of [password, literal, password.slice(0, 16)]) expect(log).not.toContain(form);
    const logged = [...log.matchAll(/ALTER ROLE .* PASSWORD .*/g)].map(([statement]) => statement);
    expect(logged).toHaveLength(SERVICES.length);
    for (const statement of logged) expect(statement).toMatch(/ PASSWORD 'SCRAM-SHA-256\$[^']+'$/);
    for (const { code, stdout, stderr } of refused) {
      expect([code, stdout]).toEqual([1, ""]);
      expect(stderr).toMatch(/; run as a superuser: ALTER ROLE "parley_admin" CREATEROLE;\n$/);
      expect(stderr).not.toMatch(/SCRAM|PASSWORD/);
      expect(stderr).not.toContain(password);
    }
  });
}

/** The rows of the last statement; CREATE DATABASE is sent by itself, as it must be. */
async function run(url: string, sql: string): Promise<object[]> {
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
