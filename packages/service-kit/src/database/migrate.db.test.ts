import { randomBytes } from "node:crypto";
import { Socket } from "node:net";
import { createDatabase, queryRows as query } from "@parley/test-support";
import { Client, type QueryResult } from "pg";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { migrate, revertMigrations } from "./migrate.ts";
import type { MigrateOptions, Migration } from "./migrate-options.ts";

const SCHEMA = "things";
const PASSWORD = "password's \\ of % the tests~";

type TestDatabase = {
  /** The superuser's URL. */
  url: string;
  name: string;
  /** A role that may create roles and schemas but is not a superuser. */
  admin: string;
  /** The service's role. It does not exist yet. */
  role: string;
  /** Options that connect as `admin` and set no password for the role. */
  target: Omit<MigrateOptions, "rolePassword">;
};

/** Creates a database and its administrator. The administrator owns the database or, if not `isOwner`, may only create schemas in it. */
async function createTestDatabase({ isOwner = true, attributes = "CREATEROLE" } = {}): Promise<TestDatabase> {
  const { url, name, drop } = await createDatabase();
  const suffix = randomBytes(4).toString("hex");
  const [admin, role] = [`parley_test_admin_${suffix}`, `parley_test_${suffix}`];
  onTestFinished(async () => {
    await drop();
    await query(inject("postgresUrl"), `DROP ROLE IF EXISTS ${role}; DROP ROLE ${admin}`);
  });
  await query(
    url,
    `CREATE ROLE ${admin} LOGIN ${attributes} PASSWORD 'admin';
     ${isOwner ? `ALTER DATABASE ${name} OWNER TO ${admin}` : `GRANT CREATE ON DATABASE ${name} TO ${admin}`}`,
  );
  const target = { url: urlAs(url, admin, "admin"), schema: SCHEMA, role, migrations: [createThings] };
  return { url, name, admin, role, target };
}

function urlAs(base: string, user: string, password: string): string {
  const url = new URL(base);
  url.username = user;
  url.password = encodeURIComponent(password);
  return url.href;
}

/** Returns the message of the error with which `work` rejects. */
async function errorOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (!(error instanceof Error)) throw new Error("the work did not throw");
  return error.message;
}

/** Returns the statements that an error message asks the operator to run. */
function remedyOf(message: string): string {
  const [, remedy] = /; run [^:]+: (.+)$/.exec(message) ?? [];
  if (remedy === undefined) throw new Error(`no statement in: ${message}`);
  return remedy;
}

function migration(name: string, oldestVersion?: string): Migration {
  return {
    name,
    up: (knex) => knex.raw(`CREATE TABLE ${SCHEMA}."t_${name}" (id serial PRIMARY KEY)`),
    down: (knex) => knex.raw(`DROP TABLE ${SCHEMA}."t_${name}"`),
    ...(oldestVersion !== undefined && { oldestVersion }),
  };
}

const createThings = migration("0001_things");

test("a migrator that waits for the lock does not block CREATE INDEX CONCURRENTLY in another service's migration", async () => {
  const { target } = await createTestDatabase();
  const options = (schema: string) => ({ ...target, schema, rolePassword: PASSWORD });
  const started = Promise.withResolvers<void>();
  const first = migrate({
    ...options("first"),
    migrations: [
      {
        name: "0001",
        config: { transaction: false },
        async up(knex) {
          await knex.raw("CREATE TABLE first.things (id integer)");
          started.resolve();
          // Waits until the other migrator has tried to take the lock.
          await expect
            .poll(async () => {
              const waiting = await knex.raw<{ rows: object[] }>(
                "SELECT FROM pg_stat_activity WHERE application_name = 'parley-migrate-second' AND query LIKE '%advisory_lock%'",
              );
              return waiting.rows.length;
            })
            .toBe(1);
          await knex.raw("CREATE INDEX CONCURRENTLY things_id ON first.things (id)");
        },
        down: async () => undefined,
      },
    ],
  });
  await started.promise;
  const second = migrate({ ...options("second"), migrations: [] });
  expect(await first).toEqual({ applied: ["0001"] });
  expect(await second).toEqual({ applied: [] });
});

test("if the check for a pooler loses a connection between two statements, migrate rejects", async () => {
  const { target, url } = await createTestDatabase();
  const sendQuery = Client.prototype.query as (this: Client, text: string) => Promise<QueryResult>;
  const checked = new Set<Client>();
  const loseSecondClient = async function (this: Client, text: string) {
    const result = await sendQuery.call(this, text);
    if (!text.includes("pg_backend_pid()") || checked.size === 2) return result;
    if (checked.add(this).size < 2) return result;
    const ended = new Promise((resolve) => this.once("end", resolve));
    await query(url, `SELECT pg_terminate_backend(${result.rows[0].pid}, 5000)`);
    await ended;
    return result;
  };
  vi.spyOn(Client.prototype, "query").mockImplementation(loseSecondClient);
  onTestFinished(() => void vi.restoreAllMocks());
  expect(await errorOf(migrate({ ...target, rolePassword: PASSWORD }))).toContain("not queryable");
  expect(checked.size).toBe(2);
});

test("releases the lock before it closes the connection, because a pooler may keep the session", async () => {
  const { target } = await createTestDatabase();
  const end = Client.prototype.end as (this: Client) => Promise<void>;
  const locks: unknown[] = [];
  const endAfterCount = async function (this: Client) {
    const { rows } = await this.query(
      "SELECT count(*)::int AS held FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()",
    );
    locks.push(rows[0]?.held);
    await end.call(this);
  };
  vi.spyOn(Client.prototype, "end").mockImplementation(endAfterCount as never);
  await migrate({ ...target, rolePassword: PASSWORD }).finally(() => vi.restoreAllMocks());
  expect(new Set(locks)).toEqual(new Set([0]));
});

test("if the connection that holds the lock is lost, migrate rejects and commits no migration", async () => {
  const { target, url } = await createTestDatabase();
  const loseLock: Migration = {
    ...createThings,
    async up(knex) {
      await createThings.up(knex);
      const locks = "SELECT pid FROM pg_locks WHERE locktype = 'advisory'";
      const database = "database = (SELECT oid FROM pg_database WHERE datname = current_database())";
      await query(url, `SELECT pg_terminate_backend(pid, 5000) FROM (${locks} AND ${database}) l`);
    },
  };
  const options = { ...target, rolePassword: PASSWORD };
  expect(await errorOf(migrate({ ...options, migrations: [loseLock, migration("0002_more")] }))).toMatch(
    /^the connection that holds the migrations' lock was lost \(.*terminating connection.*\); .*run the migrations again$/,
  );
  expect(await migrate({ ...options, migrations: [createThings, migration("0002_more")] })).toEqual({
    applied: ["0001_things", "0002_more"],
  });
});

test.each([true, false])(
  "an administrator that is not a superuser can migrate repeatedly (owns the database: %s)",
  async (isOwner) => {
    const { target, url, role } = await createTestDatabase({ isOwner });
    expect(await migrate({ ...target, rolePassword: PASSWORD })).toEqual({ applied: ["0001_things"] });
    expect(await migrate({ ...target, rolePassword: PASSWORD })).toEqual({ applied: [] });
    expect(await migrate({ ...target, rolePassword: "another" })).toEqual({ applied: [] });
    await expect(query(urlAs(url, role, PASSWORD), "SELECT")).rejects.toThrow("password authentication failed");
    const roleUrl = urlAs(url, role, "another");
    await query(roleUrl, `INSERT INTO ${SCHEMA}."t_0001_things" DEFAULT VALUES`);
    expect(await query(roleUrl, `SELECT id FROM ${SCHEMA}."t_0001_things"`)).toEqual([{ id: 1 }]);
    await expect(query(roleUrl, `UPDATE ${SCHEMA}.migrations SET name = ''`)).rejects.toThrow("permission denied");
    expect(await query(roleUrl, "SHOW statement_timeout")).toEqual([{ statement_timeout: "10s" }]);
    expect(await query(roleUrl, "SHOW idle_in_transaction_session_timeout")).toEqual([
      { idle_in_transaction_session_timeout: "15s" },
    ]);
  },
);

test.each(["SUPERUSER", "CREATEROLE", "CREATEDB", "REPLICATION", "BYPASSRLS"])(
  "refuses a role with the attribute %s, whether or not rolePassword is set",
  async (attribute) => {
    const { target, url, role } = await createTestDatabase();
    await query(url, `CREATE ROLE ${role} ${attribute}`);
    const message = await errorOf(migrate({ ...target, rolePassword: PASSWORD }));
    expect(message).toBe(
      `role ${role} has ${attribute}, which a service's role must not have; ` +
        `run as a role that may alter it: ALTER ROLE "${role}" NO${attribute};`,
    );
    expect(await errorOf(migrate(target))).toBe(message);
    await query(url, remedyOf(message));
    // Migrates as the superuser, because the administrator did not create the role and may not alter it.
    expect(await migrate({ ...target, url, rolePassword: PASSWORD })).toEqual({ applied: ["0001_things"] });
  },
);

test("if the administrator may not create roles, the error names the statement to run", async () => {
  const { target, url } = await createTestDatabase({ attributes: "NOCREATEROLE" });
  const message = await errorOf(migrate({ ...target, rolePassword: PASSWORD }));
  expect(message).toMatch(/^permission denied to create role; run as a superuser: ALTER ROLE/);
  expect(message).not.toContain("SCRAM");
  expect(message).not.toContain(PASSWORD);
  await query(url, remedyOf(message));
  expect(await migrate({ ...target, rolePassword: PASSWORD })).toEqual({ applied: ["0001_things"] });
});

test("if another role created the service's role, the error names the statement to run", async () => {
  const { target, url, role } = await createTestDatabase();
  await query(url, `CREATE ROLE ${role} LOGIN`);
  const message = await errorOf(migrate({ ...target, rolePassword: PASSWORD }));
  expect(message).toMatch(
    new RegExp(`^permission denied.*; run as a superuser, or as the role that created ${role}: GRANT `),
  );
  await query(url, remedyOf(message));
  expect(await migrate({ ...target, rolePassword: PASSWORD })).toEqual({ applied: ["0001_things"] });
});

test("if the administrator may not create the schema, the error names the statement to run", async () => {
  const { target, url, name, admin } = await createTestDatabase({ isOwner: false });
  await query(url, `REVOKE CREATE ON DATABASE ${name} FROM ${admin}`);
  const message = await errorOf(migrate({ ...target, rolePassword: PASSWORD }));
  expect(message).toMatch(/^permission denied for database.*; run as the database's owner: GRANT CREATE ON DATABASE/);
  await query(url, remedyOf(message));
  expect(await migrate({ ...target, rolePassword: PASSWORD })).toEqual({ applied: ["0001_things"] });
  await query(url, `REVOKE CREATE ON DATABASE ${name} FROM ${admin}`);
  expect(await migrate({ ...target, rolePassword: PASSWORD })).toEqual({ applied: [] });
});

test("if the administrator may not grant CONNECT, the error names the statement to run, although PostgreSQL only warns", async () => {
  const { target, url, name, admin, role } = await createTestDatabase({ isOwner: false });
  await query(url, `REVOKE CONNECT ON DATABASE ${name} FROM PUBLIC; GRANT CONNECT ON DATABASE ${name} TO ${admin}`);
  const message = await errorOf(migrate({ ...target, rolePassword: PASSWORD }));
  expect(message).toBe(
    `${admin} may not correct the privileges of role ${role}; ` +
      `run as the owner or a superuser: GRANT CONNECT ON DATABASE ${name} TO ${role};`,
  );
  await query(url, remedyOf(message));
  expect(await migrate({ ...target, rolePassword: PASSWORD })).toEqual({ applied: [] });
  await query(urlAs(url, role, PASSWORD), "SELECT");
});

test("the role can connect after PUBLIC has lost CONNECT", async () => {
  const { target, url, name, role } = await createTestDatabase();
  await migrate({ ...target, rolePassword: PASSWORD });
  await query(url, `REVOKE CONNECT ON DATABASE ${name} FROM PUBLIC`);
  await query(urlAs(url, role, PASSWORD), "SELECT");
});

test("if another role owns tables and sequences, the error names the statements for these, and the other grants are made", async () => {
  const { target, url, role } = await createTestDatabase();
  await migrate({ ...target, rolePassword: PASSWORD });
  await query(url, `CREATE TABLE ${SCHEMA}."a b" (id serial); GRANT SELECT, INSERT ON ${SCHEMA}."a b" TO ${role}`);
  const migrations = [createThings, migration("0002_more")];
  const message = await errorOf(migrate({ ...target, migrations }));
  expect(message).toContain(
    `run as the owner or a superuser: GRANT SELECT, INSERT, UPDATE, DELETE ON ${SCHEMA}."a b" TO ${role}; ` +
      `GRANT USAGE ON SEQUENCE ${SCHEMA}."a b_id_seq" TO ${role};`,
  );
  expect(message).not.toContain("t_0002_more");
  await query(urlAs(url, role, PASSWORD), `INSERT INTO ${SCHEMA}."t_0002_more" DEFAULT VALUES`);
  await query(url, remedyOf(message));
  expect(await migrate({ ...target, migrations })).toEqual({ applied: [] });
});

test("without a password, refuses to migrate until the role exists with its timeouts", async () => {
  const { target, url, name, role } = await createTestDatabase();
  const roleMissing = await errorOf(migrate(target));
  expect(roleMissing).toMatch(
    new RegExp(`^role ${role} does not exist; run as a role that may create roles: CREATE ROLE`),
  );
  const createRole = `CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD.replace("'", "''")}'`;
  await query(url, createRole);
  const message = await errorOf(migrate(target));
  expect(message).toBe(
    `role ${role} has no statement_timeout and no idle_in_transaction_session_timeout; run as a role that may alter it: ` +
      `ALTER ROLE "${role}" SET statement_timeout = '10s'; ALTER ROLE "${role}" SET idle_in_transaction_session_timeout = '15s';`,
  );
  expect(await query(url, `SELECT FROM pg_namespace WHERE nspname = '${SCHEMA}'`)).toEqual([]);
  // A role's timeout of 0 counts as missing, even if the database has a timeout. A timeout of the role in this database counts as set.
  await query(url, `ALTER ROLE ${role} SET statement_timeout = 0`);
  await query(url, `ALTER DATABASE ${name} SET statement_timeout = '10s'`);
  await query(url, `ALTER ROLE ${role} IN DATABASE ${name} SET idle_in_transaction_session_timeout = '20s'`);
  expect(await errorOf(migrate(target))).toBe(
    `role ${role} has no statement_timeout; run as a role that may alter it: ALTER ROLE "${role}" SET statement_timeout = '10s';`,
  );
  await query(url, remedyOf(message));
  expect(await migrate(target)).toEqual({ applied: ["0001_things"] });
  await query(urlAs(url, role, PASSWORD), `SELECT FROM ${SCHEMA}."t_0001_things"`);
});

/** The password in the error's statements, which an operator replaces. */
const PLACEHOLDER_PASSWORD = "…";

test("the statements in the error for a missing role create the role with all its timeouts, and the migration then succeeds", async () => {
  const { target, url, role } = await createTestDatabase();
  const roleTimeouts = { lock_timeout: "2s" };
  await query(url, remedyOf(await errorOf(migrate({ ...target, roleTimeouts }))));
  expect(await migrate({ ...target, roleTimeouts })).toEqual({ applied: ["0001_things"] });
  expect(await query(urlAs(url, role, PLACEHOLDER_PASSWORD), "SHOW lock_timeout")).toEqual([roleTimeouts]);
});

test("does not change or revert a newer schema, but sets the role's password", async () => {
  const { target, url, role } = await createTestDatabase();
  const newer = { ...target, migrations: [createThings, migration("0002_more"), migration("0003_most")] };
  await migrate({ ...newer, rolePassword: PASSWORD });
  expect(await migrate({ ...target, rolePassword: "another" })).toEqual({ applied: [], newerMigration: "0003_most" });
  await query(urlAs(url, role, "another"), `SELECT FROM ${SCHEMA}."t_0003_most"`);
  await expect(revertMigrations(target, 1)).rejects.toThrow("0002_more, 0003_most");
  expect(await migrate(newer)).toEqual({ applied: [] });
});

test("refuses a newer schema that lacks a migration of this version", async () => {
  const { target } = await createTestDatabase();
  await migrate({ ...target, rolePassword: PASSWORD, migrations: [createThings, migration("0003_most")] });
  expect(await errorOf(migrate({ ...target, migrations: [createThings, migration("0002_more")] }))).toBe(
    "schema has 0003_most of another version and lacks 0002_more of this one: install the version that has both",
  );
});

test("refuses a schema that needs a newer version, until its contraction is reverted", async () => {
  const { target } = await createTestDatabase();
  const expanded = [createThings, migration("0002_more", "0.0.9")];
  const contracted = [...expanded, migration("0003_less", "0.10.0"), migration("0004_rest")];
  await migrate({ ...target, rolePassword: PASSWORD, migrations: contracted });
  expect(await errorOf(migrate(target))).toMatch(
    /^schema \(0004_rest\) is newer than this version and needs version 0\.10\.0 or newer; this is \d+\.\d+\.\d+$/,
  );
  await revertMigrations({ ...target, migrations: contracted }, 2);
  expect(await migrate(target)).toEqual({ applied: [], newerMigration: "0002_more" });
});

test("runs on a schema that needs a pre-release of this version", async () => {
  const { target } = await createTestDatabase();
  const newer = [createThings, migration("0002_less", `${manifest.version}-rc.1`)];
  await migrate({ ...target, rolePassword: PASSWORD, migrations: newer });
  expect(await migrate(target)).toEqual({ applied: [], newerMigration: "0002_less" });
});

test("the older version still runs on the schema after a failed contraction", async () => {
  const { target } = await createTestDatabase();
  const failing = { ...migration("0003_less", "99.0.0"), up: () => Promise.reject(new Error("on purpose")) };
  // Without a transaction, so that this migration stays applied when the contraction fails.
  const expansion = { ...migration("0002_more"), config: { transaction: false } };
  const next = { ...target, rolePassword: PASSWORD, migrations: [createThings, expansion, failing] };
  await expect(migrate(next)).rejects.toThrow("on purpose");
  expect(await migrate(target)).toEqual({ applied: [], newerMigration: "0002_more" });
});

test("every connection of a migration sends keepalives, because the connection that holds the lock is idle while an index is built", async () => {
  const { target } = await createTestDatabase();
  const setKeepAlive = vi.spyOn(Socket.prototype, "setKeepAlive");
  const connect = vi.spyOn(Socket.prototype, "connect");
  onTestFinished(() => void vi.restoreAllMocks());
  await migrate({ ...target, rolePassword: PASSWORD });
  expect(connect.mock.calls.length).toBeGreaterThanOrEqual(3);
  expect(setKeepAlive.mock.calls).toEqual(connect.mock.calls.map(() => [true, expect.any(Number)]));
});

test("a run that applies migrations adds an entry to the schema's audit log, with their names and the release", async () => {
  const { target, url } = await createTestDatabase();
  const createLog: Migration = {
    ...migration("0002_log"),
    up: (knex) =>
      knex.raw(`CREATE TABLE ${SCHEMA}.audit_log (
        workspace_id text NOT NULL, member text, method text NOT NULL, target jsonb NOT NULL, changed_fields text[] NOT NULL)`),
  };
  const run = (...migrations: Migration[]) => migrate({ ...target, rolePassword: PASSWORD, migrations });
  await run(createThings);
  await run(createThings, createLog);
  await run(createThings, createLog);
  await run(createThings, createLog, migration("0003"), migration("0004"));
  const release = manifest.version;
  const line = { workspace_id: "", member: null, method: "Schema/Migrate", changed_fields: [] };
  expect(await query(url, `SELECT * FROM ${SCHEMA}.audit_log`)).toEqual([
    { ...line, target: { release, from: "0002_log", to: "0002_log", migrations: "1" } },
    { ...line, target: { release, from: "0003", to: "0004", migrations: "2" } },
  ]);
});
