import { randomBytes } from "node:crypto";
import { createDatabase } from "@parley/test-support";
import { Client } from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { type MigrateOptions, type Migration, migrate, rollback } from "./migrate.ts";

const SCHEMA = "things";
const PASSWORD = "password's \\ of % the tests~";

type Place = {
  /** A superuser's URL of the database. */
  url: string;
  name: string;
  /** A role that may create roles and schemas, and is no superuser. */
  admin: string;
  role: string;
  /** As `admin`, without a password for the role. */
  target: Omit<MigrateOptions, "rolePassword">;
};

/** A fresh database with an administrator of its own, who owns it or may only create schemas in it. */
async function createPlace({ isOwner = true, attributes = "CREATEROLE" } = {}): Promise<Place> {
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

async function query<T extends object>(url: string, sql: string): Promise<T[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<T>(sql)).rows;
  } finally {
    await client.end();
  }
}

/** What an error of `migrate` says. */
async function refusalOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (!(error instanceof Error)) throw new Error("nothing was refused");
  return error.message;
}

/** The statements that an error says to run. */
function remedyOf(refusal: string): string {
  const [, remedy] = /; run [^:]+: (.+)$/.exec(refusal) ?? [];
  if (remedy === undefined) throw new Error(`no statement in: ${refusal}`);
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

test("an index that one service builds concurrently is not held up by another service's migrations, which wait for their turn", async () => {
  const { target } = await createPlace();
  const options = (schema: string) => ({ ...target, schema, rolePassword: PASSWORD });
  const underWay = Promise.withResolvers<void>();
  const building = migrate({
    ...options("first"),
    migrations: [
      {
        name: "0001",
        config: { transaction: false },
        async up(knex) {
          await knex.raw("CREATE TABLE first.things (id integer)");
          underWay.resolve();
          // The other one waits for us by now, however it waits.
          await expect
            .poll(async () => {
              const others = await knex.raw<{ rows: object[] }>(
                "SELECT FROM pg_stat_activity WHERE application_name = 'parley-migrate-second' AND query LIKE '%advisory_lock%'",
              );
              return others.rows.length;
            })
            .toBe(1);
          await knex.raw("CREATE INDEX CONCURRENTLY things_id ON first.things (id)");
        },
        down: async () => undefined,
      },
    ],
  });
  await underWay.promise;
  const waiting = migrate({ ...options("second"), migrations: [] });
  expect(await building).toEqual({ applied: ["0001"] });
  expect(await waiting).toEqual({ applied: [] });
});

test("databases of one server are migrated at once, though they share the role", async () => {
  const databases = await Promise.all(Array.from({ length: 8 }, () => createDatabase()));
  const role = `parley_test_${randomBytes(4).toString("hex")}`;
  onTestFinished(async () => {
    await Promise.all(databases.map(({ drop }) => drop()));
    await query(inject("postgresUrl"), `DROP ROLE IF EXISTS ${role}`);
  });
  const migrations = Array.from({ length: 10 }, () =>
    databases.map(({ url }) => migrate({ url, schema: "first", role, rolePassword: "the same", migrations: [] })),
  );
  expect(await Promise.all(migrations.flat())).toEqual(Array.from({ length: 80 }, () => ({ applied: [] })));
});

test.each([true, false])(
  "an administrator who is no superuser migrates again and again, owner of the database: %s",
  async (isOwner) => {
    const { target, url, role } = await createPlace({ isOwner });
    expect(await migrate({ ...target, rolePassword: PASSWORD })).toEqual({ applied: ["0001_things"] });
    expect(await migrate({ ...target, rolePassword: PASSWORD })).toEqual({ applied: [] });
    expect(await migrate({ ...target, rolePassword: "another" })).toEqual({ applied: [] });
    await expect(query(urlAs(url, role, PASSWORD), "SELECT")).rejects.toThrow("password authentication failed");
    const own = urlAs(url, role, "another");
    await query(own, `INSERT INTO ${SCHEMA}."t_0001_things" DEFAULT VALUES`);
    expect(await query(own, `SELECT id FROM ${SCHEMA}."t_0001_things"`)).toEqual([{ id: 1 }]);
    await expect(query(own, `UPDATE ${SCHEMA}.migrations SET name = ''`)).rejects.toThrow("permission denied");
    expect(await query(own, "SHOW statement_timeout")).toEqual([{ statement_timeout: "10s" }]);
    expect(await query(own, "SHOW idle_in_transaction_session_timeout")).toEqual([
      { idle_in_transaction_session_timeout: "15s" },
    ]);
  },
);

test.each(["SUPERUSER", "CREATEROLE", "CREATEDB"])(
  "refuses a service's role with the attribute %s, with or without a password for it",
  async (attribute) => {
    const { target, url, role } = await createPlace();
    await query(url, `CREATE ROLE ${role} ${attribute}`);
    const refusal = await refusalOf(migrate({ ...target, rolePassword: PASSWORD }));
    expect(refusal).toBe(
      `role ${role} has ${attribute}, which a service's role must not have; ` +
        `run as a role that may alter it: ALTER ROLE "${role}" NO${attribute};`,
    );
    expect(await refusalOf(migrate(target))).toBe(refusal);
    await query(url, remedyOf(refusal));
    // As a superuser: what is left is that somebody else created the role.
    expect(await migrate({ ...target, url, rolePassword: PASSWORD })).toEqual({ applied: ["0001_things"] });
  },
);

test("says what to run when the administrator may not create roles", async () => {
  const { target, url } = await createPlace({ attributes: "NOCREATEROLE" });
  const refusal = await refusalOf(migrate({ ...target, rolePassword: PASSWORD }));
  expect(refusal).toMatch(/^permission denied to create role; run as a superuser: ALTER ROLE/);
  expect(refusal).not.toContain("SCRAM");
  expect(refusal).not.toContain(PASSWORD);
  await query(url, remedyOf(refusal));
  expect(await migrate({ ...target, rolePassword: PASSWORD })).toEqual({ applied: ["0001_things"] });
});

test("says what to run when somebody else created the role, which CREATEROLE alone may not alter", async () => {
  const { target, url, role } = await createPlace();
  await query(url, `CREATE ROLE ${role} LOGIN`);
  const refusal = await refusalOf(migrate({ ...target, rolePassword: PASSWORD }));
  expect(refusal).toMatch(/^permission denied.*; run as a superuser, or as the role that created it: GRANT /);
  await query(url, remedyOf(refusal));
  expect(await migrate({ ...target, rolePassword: PASSWORD })).toEqual({ applied: ["0001_things"] });
});

test("says what to run when the administrator may not create the schema", async () => {
  const { target, url, name, admin } = await createPlace({ isOwner: false });
  await query(url, `REVOKE CREATE ON DATABASE ${name} FROM ${admin}`);
  const refusal = await refusalOf(migrate({ ...target, rolePassword: PASSWORD }));
  expect(refusal).toMatch(/^permission denied for database.*; run as the database's owner: GRANT CREATE ON DATABASE/);
  await query(url, remedyOf(refusal));
  expect(await migrate({ ...target, rolePassword: PASSWORD })).toEqual({ applied: ["0001_things"] });
  await query(url, `REVOKE CREATE ON DATABASE ${name} FROM ${admin}`);
  expect(await migrate({ ...target, rolePassword: PASSWORD })).toEqual({ applied: [] });
});

test("says what to run when the administrator may not let the role connect, which PostgreSQL only warns of", async () => {
  const { target, url, name, admin, role } = await createPlace({ isOwner: false });
  await query(url, `REVOKE CONNECT ON DATABASE ${name} FROM PUBLIC; GRANT CONNECT ON DATABASE ${name} TO ${admin}`);
  const refusal = await refusalOf(migrate({ ...target, rolePassword: PASSWORD }));
  expect(refusal).toBe(
    `role ${role} lacks privileges that ${admin} may not grant; ` +
      `run as the owner or a superuser: GRANT CONNECT ON DATABASE ${name} TO ${role};`,
  );
  await query(url, remedyOf(refusal));
  expect(await migrate({ ...target, rolePassword: PASSWORD })).toEqual({ applied: [] });
  await query(urlAs(url, role, PASSWORD), "SELECT");
});

test("the role keeps its connection when PUBLIC loses it", async () => {
  const { target, url, name, role } = await createPlace();
  await migrate({ ...target, rolePassword: PASSWORD });
  await query(url, `REVOKE CONNECT ON DATABASE ${name} FROM PUBLIC`);
  await query(urlAs(url, role, PASSWORD), "SELECT");
});

test("says what to run for tables and sequences of another owner, and grants the rest", async () => {
  const { target, url, role } = await createPlace();
  await migrate({ ...target, rolePassword: PASSWORD });
  await query(url, `CREATE TABLE ${SCHEMA}."a b" (id serial); GRANT SELECT, INSERT ON ${SCHEMA}."a b" TO ${role}`);
  const migrations = [createThings, migration("0002_more")];
  const refusal = await refusalOf(migrate({ ...target, migrations }));
  expect(refusal).toContain(
    `run as the owner or a superuser: GRANT SELECT, INSERT, UPDATE, DELETE ON ${SCHEMA}."a b" TO ${role}; ` +
      `GRANT USAGE ON SEQUENCE ${SCHEMA}."a b_id_seq" TO ${role};`,
  );
  expect(refusal).not.toContain("t_0002_more");
  await query(urlAs(url, role, PASSWORD), `INSERT INTO ${SCHEMA}."t_0002_more" DEFAULT VALUES`);
  await query(url, remedyOf(refusal));
  expect(await migrate({ ...target, migrations })).toEqual({ applied: [] });
});

test("without a password the role must exist, with its timeouts, before anything is migrated", async () => {
  const { target, url, name, role } = await createPlace();
  const absent = await refusalOf(migrate(target));
  expect(absent).toMatch(new RegExp(`^role ${role} does not exist; run as a role that may create roles: CREATE ROLE`));
  const untimed = `CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD.replace("'", "''")}'`;
  await query(url, untimed);
  const refusal = await refusalOf(migrate(target));
  expect(refusal).toBe(
    `role ${role} has no statement_timeout and no idle_in_transaction_session_timeout; run as a role that may alter it: ` +
      `ALTER ROLE "${role}" SET statement_timeout = '10s'; ALTER ROLE "${role}" SET idle_in_transaction_session_timeout = '15s';`,
  );
  expect(await query(url, `SELECT FROM pg_namespace WHERE nspname = '${SCHEMA}'`)).toEqual([]);
  // No limit is no timeout, wherever it is set.
  await query(url, `ALTER ROLE ${role} SET statement_timeout = 0`);
  await query(url, `ALTER ROLE ${role} IN DATABASE ${name} SET idle_in_transaction_session_timeout = '20s'`);
  expect(await refusalOf(migrate(target))).toBe(
    `role ${role} has no statement_timeout; run as a role that may alter it: ALTER ROLE "${role}" SET statement_timeout = '10s';`,
  );
  await query(url, remedyOf(refusal));
  expect(await migrate(target)).toEqual({ applied: ["0001_things"] });
  await query(urlAs(url, role, PASSWORD), `SELECT FROM ${SCHEMA}."t_0001_things"`);
});

test("the role that the error says to create is all that is needed", async () => {
  const { target, url } = await createPlace();
  await query(url, remedyOf(await refusalOf(migrate(target))));
  expect(await migrate(target)).toEqual({ applied: ["0001_things"] });
});

test("leaves a newer schema as it is, gives the role its password, and takes nothing of it back", async () => {
  const { target, url, role } = await createPlace();
  const newer = { ...target, migrations: [createThings, migration("0002_more"), migration("0003_most")] };
  await migrate({ ...newer, rolePassword: PASSWORD });
  expect(await migrate({ ...target, rolePassword: "another" })).toEqual({ applied: [], newer: "0003_most" });
  await query(urlAs(url, role, "another"), `SELECT FROM ${SCHEMA}."t_0003_most"`);
  await expect(rollback(target, 1)).rejects.toThrow("0002_more, 0003_most");
  expect(await migrate(newer)).toEqual({ applied: [] });
});

test("refuses a newer schema that lacks a migration of this version", async () => {
  const { target } = await createPlace();
  await migrate({ ...target, rolePassword: PASSWORD, migrations: [createThings, migration("0003_most")] });
  expect(await refusalOf(migrate({ ...target, migrations: [createThings, migration("0002_more")] }))).toBe(
    "schema has 0003_most of another version and lacks 0002_more of this one: install the version that has both",
  );
});

test("refuses a newer schema on which only newer versions run, until the contraction is taken back", async () => {
  const { target } = await createPlace();
  const expanded = [createThings, migration("0002_more", "0.0.9")];
  const contracted = [...expanded, migration("0003_less", "0.10.0"), migration("0004_rest")];
  await migrate({ ...target, rolePassword: PASSWORD, migrations: contracted });
  expect(await refusalOf(migrate(target))).toMatch(
    /^schema is newer than this version \(0004_rest\) and needs version 0\.10\.0 or newer; this is \d+\.\d+\.\d+$/,
  );
  await rollback({ ...target, migrations: contracted }, 2);
  expect(await migrate(target)).toEqual({ applied: [], newer: "0002_more" });
});

test("a contraction that fails leaves the schema to the older version", async () => {
  const { target } = await createPlace();
  const failing = { ...migration("0003_less", "99.0.0"), up: () => Promise.reject(new Error("on purpose")) };
  // Outside of a transaction, so that what precedes the contraction stays.
  const expansion = { ...migration("0002_more"), config: { transaction: false } };
  const next = { ...target, rolePassword: PASSWORD, migrations: [createThings, expansion, failing] };
  await expect(migrate(next)).rejects.toThrow("on purpose");
  expect(await migrate(target)).toEqual({ applied: [], newer: "0002_more" });
});
