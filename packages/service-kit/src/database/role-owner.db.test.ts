import { randomBytes } from "node:crypto";
import { createDatabase, queryRows as query } from "@parley/test-support";
import { expect, inject, onTestFinished, test } from "vitest";
import { migrate } from "./migrate.ts";
import type { MigrateOptions } from "./migrate-options.ts";

const createThings = {
  name: "0001_things",
  up: (knex: { raw(sql: string): Promise<void> }) => knex.raw("CREATE TABLE things.things (id integer)"),
  down: (knex: { raw(sql: string): Promise<void> }) => knex.raw("DROP TABLE things.things"),
};

/** Two databases on one server, and a role that does not exist yet. */
async function createServer() {
  const [first, second] = [await createDatabase(), await createDatabase()];
  const role = `parley_test_${randomBytes(4).toString("hex")}`;
  onTestFinished(async () => {
    await Promise.all([first.drop(), second.drop()]);
    await query(inject("postgresUrl"), `DROP ROLE IF EXISTS ${role}, ${role}_other`);
  });
  const migrateDatabase = (url: string, password: string, options: Partial<MigrateOptions> = {}) =>
    migrate({ url, schema: "things", role, rolePassword: password, migrations: [createThings], ...options });
  const canLogIn = async (url: string, password: string) => {
    const login = Object.assign(new URL(url), { username: role, password });
    return query(login.href, "SELECT FROM things.things").then(
      () => true,
      () => false,
    );
  };
  return { first, second, role, migrateDatabase, canLogIn };
}

/** Returns the statement of the error that marks the role with its new owner. */
function claimOf(error: unknown): string {
  const [claim] = /COMMENT ON ROLE .*;$/.exec((error as Error).message) ?? [];
  if (claim === undefined) throw error;
  return claim;
}

test("refuses the role of another database on the server, names both, and leaves the role's password", async () => {
  const { first, second, role, migrateDatabase, canLogIn } = await createServer();
  await migrateDatabase(first.url, "first", { installation: "chat/parley" });
  const error = await migrateDatabase(second.url, "second", { installation: "shop/parley" }).catch((cause) => cause);
  expect(error.message).toBe(
    `role ${role} belongs to database ${first.name}, installation chat/parley, and this is database ${second.name}, installation shop/parley; ` +
      "give this installation roles of its own (DATABASE_ROLE_PREFIX; chart: database.rolePrefix), or, if nothing else uses the role any more, " +
      `run as a role that may alter it: COMMENT ON ROLE "${role}" IS 'Parley {"database":"${second.name}","installation":"shop/parley"}';`,
  );
  expect(await canLogIn(first.url, "first")).toBe(true);
  expect(await query(second.url, "SELECT FROM pg_namespace WHERE nspname = 'things'")).toEqual([]);
  const own = { installation: "shop/parley", role: `${role}_other` };
  expect(await migrateDatabase(second.url, "second", own)).toEqual({ applied: ["0001_things"] });
  expect(await canLogIn(first.url, "first")).toBe(true);
});

test.each([
  ["installations of the same name in two clusters", "chat/parley", "chat/parley"],
  ["runs by hand, which have no installation", "", ""],
  ["a run by hand after an installation", "chat/parley", ""],
  ["an installation after a run by hand", "", "chat/parley"],
])("refuses the role of another database for %s", async (_, installation, other) => {
  const { first, second, migrateDatabase, canLogIn } = await createServer();
  await migrateDatabase(first.url, "first", { installation });
  await expect(migrateDatabase(second.url, "second", { installation: other })).rejects.toThrow(/belongs to database/);
  expect(await canLogIn(first.url, "first")).toBe(true);
});

test("refuses another installation with the same database", async () => {
  const { first, migrateDatabase, canLogIn } = await createServer();
  await migrateDatabase(first.url, "first", { installation: "chat/parley" });
  await expect(migrateDatabase(first.url, "second", { installation: "shop/parley" })).rejects.toThrow(
    "a database and roles of its own (chart: database.name and database.rolePrefix)",
  );
  expect(await canLogIn(first.url, "first")).toBe(true);
});

test("keeps the installation's name in a run by hand with the same database", async () => {
  const { first, role, migrateDatabase, canLogIn } = await createServer();
  await migrateDatabase(first.url, "first", { installation: "chat/parley" });
  expect(await migrateDatabase(first.url, "by hand", { installation: "" })).toEqual({ applied: [] });
  expect(await canLogIn(first.url, "by hand")).toBe(true);
  const comment = "SELECT shobj_description(oid, 'pg_authid') AS comment FROM pg_roles";
  expect(await query(first.url, `${comment} WHERE rolname = '${role}'`)).toEqual([
    { comment: `Parley {"database":"${first.name}","installation":"chat/parley"}` },
  ]);
});

test("takes over a role without a mark once, unless it has privileges in another database", async () => {
  const { first, second, role, migrateDatabase, canLogIn } = await createServer();
  await migrateDatabase(first.url, "unmarked");
  const refused = await migrateDatabase(second.url, "second", { installation: "" }).catch((cause) => cause);
  expect(refused.message).toContain(
    `role ${role} has privileges in database ${first.name}, and this is database ${second.name}; `,
  );
  expect(await canLogIn(first.url, "unmarked")).toBe(true);
  expect(await migrateDatabase(first.url, "first", { installation: "" })).toEqual({ applied: [] });
  await expect(migrateDatabase(second.url, "second", { installation: "" })).rejects.toThrow("belongs to database");
});

test("accepts the role after the statement in the error, and then refuses the first database", async () => {
  const { first, second, migrateDatabase, canLogIn } = await createServer();
  await migrateDatabase(first.url, "first", { installation: "a" });
  const error = await migrateDatabase(second.url, "second", { installation: "b" }).catch((cause) => cause);
  await query(first.url, claimOf(error));
  expect(await migrateDatabase(second.url, "second", { installation: "b" })).toEqual({ applied: ["0001_things"] });
  expect(await canLogIn(second.url, "second")).toBe(true);
  await expect(migrateDatabase(first.url, "first", { installation: "a" })).rejects.toThrow("belongs to database");
});

test("takes over the role of a database that no longer exists", async () => {
  const { first, second, migrateDatabase, canLogIn } = await createServer();
  await migrateDatabase(first.url, "first", { installation: "a" });
  await first.drop();
  expect(await migrateDatabase(second.url, "second", { installation: "b" })).toEqual({ applied: ["0001_things"] });
  expect(await canLogIn(second.url, "second")).toBe(true);
});

test("if two databases are migrated at once, one gets the role and the other is refused", async () => {
  for (let round = 0; round < 5; round++) {
    const { first, second, migrateDatabase, canLogIn } = await createServer();
    const databases = [first, second];
    const results = await Promise.allSettled(
      databases.map(({ url, name }) => migrateDatabase(url, name, { installation: "" })),
    );
    expect(results.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const owner = databases[results.findIndex(({ status }) => status === "fulfilled")];
    expect(await canLogIn(String(owner?.url), String(owner?.name))).toBe(true);
  }
});

test("refuses a foreign role without a password too, as with roles that the operator creates", async () => {
  const { first, second, role, migrateDatabase } = await createServer();
  await migrateDatabase(first.url, "first", { installation: "a" });
  const options = { url: second.url, schema: "things", role, migrations: [createThings], installation: "b" };
  await expect(migrate(options)).rejects.toThrow("belongs to database");
});
