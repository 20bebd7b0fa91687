import { randomBytes } from "node:crypto";
import { createDatabase, nodeFlags, queryRows as query, startProcess, startShardRouter } from "@parley/test-support";
import { expect, inject, onTestFinished, test } from "vitest";

const ROOT = new URL("../../../..", import.meta.url).pathname;

/** Starts a router with a shard in each database. `admin` is an unused name, and the prefix of the service's role. */
async function createShards(databases: readonly { url: string; name: string; drop(): Promise<void> }[]) {
  const admin = `admin_${randomBytes(4).toString("hex")}`;
  onTestFinished(async () => {
    await router.stop();
    for (const { drop } of databases) await drop();
    await query(inject("postgresUrl"), `DROP ROLE IF EXISTS ${admin}_quota, ${admin}`);
  });
  const router = await startShardRouter({ shardUrls: databases.map(({ url }) => url) });
  const migrateAs = async (login: { username?: string; password?: string }, env: Record<string, string> = {}) => {
    const { exited, stdout, stderr } = await startProcess({
      name: "migrate",
      command: process.execPath,
      args: [...nodeFlags, "services/quota/src/migrate.ts"],
      cwd: ROOT,
      env: {
        DATABASE_URL: Object.assign(new URL(router.through(databases[0]?.url ?? "")), login).href,
        DATABASE_SHARDS: String(databases.length),
        DATABASE_PASSWORD: "password",
        DATABASE_ROLE_PREFIX: `${admin}_`,
        PARLEY_INSTALLATION: "chat/parley",
        ...env,
      },
    });
    const { code } = await exited;
    const lines = (text: string) => text.trimEnd().split("\n").sort();
    return { code, lines: lines(stdout()), problems: lines(stderr()) };
  };
  return { admin, migrateAs, migrate: (env?: Record<string, string>) => migrateAs({}, env) };
}

const REFUSE_SCHEMAS = `
  CREATE FUNCTION refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no schema today'; END $$;
  CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('CREATE SCHEMA') EXECUTE FUNCTION refuse()`;

const createDatabases = (count: number) => Promise.all(Array.from({ length: count }, () => createDatabase()));
const numberOf = async (url: string) =>
  (await query<{ number: string | null }>(url, "SELECT current_setting('parley.shard', true) AS number"))[0]?.number;

test("migrates every shard through the router, numbers the databases, and starts the ids of each shard at its own number", async () => {
  const databases = await createDatabases(3);
  const { migrate } = await createShards(databases);
  const first = await migrate();
  expect(first).toMatchObject({ code: 0, problems: [""] });
  expect(first.lines).toEqual([0, 1, 2].map((number) => `quota: shard ${number}: applied 0001_baseline`));
  expect(await Promise.all(databases.map(({ url }) => numberOf(url)))).toEqual(["0", "1", "2"]);
  const starts = await Promise.all(
    databases.map(({ url }) =>
      query(
        url,
        "SELECT DISTINCT start_value::text FROM pg_sequences WHERE schemaname = 'quota' AND data_type = 'bigint'::regtype",
      ),
    ),
  );
  expect(starts).toEqual(["1", "100000000000001", "200000000000001"].map((start_value) => [{ start_value }]));
  const second = await migrate();
  expect(second).toMatchObject({ code: 0, lines: [0, 1, 2].map((number) => `quota: shard ${number}: up to date`) });
});

test("continues after the failure of a shard, names it at the end, and migrates it in the next run", async () => {
  const databases = await createDatabases(3);
  const { migrate } = await createShards(databases);
  const url = databases[1]?.url ?? "";
  await query(url, REFUSE_SCHEMAS);
  const failed = await migrate();
  expect(failed.code).toBe(1);
  expect(failed.problems).toEqual([
    "quota: cannot migrate: shard 1 of 3 failed; run the migrations again",
    "quota: cannot migrate: shard 1: no schema today",
  ]);
  expect(failed.lines).toEqual([0, 2].map((number) => `quota: shard ${number}: applied 0001_baseline`));
  await query(url, "DROP EVENT TRIGGER refuse");
  const { code, lines } = await migrate();
  expect({ code, line: lines[1] }).toEqual({ code: 0, line: "quota: shard 1: applied 0001_baseline" });
});

test("changes nothing if a shard is away, has another number or another collation, and names the shards", async () => {
  const databases = await createDatabases(4);
  const { admin, migrate } = await createShards(databases);
  const [, away, misnumbered, german] = databases.map(({ name }) => name);
  await query(inject("postgresUrl"), `ALTER DATABASE ${misnumbered} SET parley.shard = 3`);
  for (const name of [away, german]) await query(inject("postgresUrl"), `DROP DATABASE ${name}`);
  const collation = "LOCALE_PROVIDER icu ICU_LOCALE 'de-DE'";
  await query(inject("postgresUrl"), `CREATE DATABASE ${german} TEMPLATE template0 ${collation}`);
  const { code, problems } = await migrate();
  expect(code).toBe(78);
  expect(problems).toEqual([
    expect.stringMatching(/^quota: cannot migrate: shard 1: database "\w+" does not exist/),
    `quota: cannot migrate: shard 2: database ${misnumbered} has parley.shard 3, and the router's alias parley_2 leads to it: correct the router's configuration`,
    "quota: cannot migrate: shard 3: the collation is icu de-DE, and that of shard 0 is icu en-US: create the databases of all shards with the same collation",
  ]);
  expect(await numberOf(databases[0]?.url ?? "")).toBeNull();
  expect(await query(inject("postgresUrl"), `SELECT FROM pg_roles WHERE rolname = '${admin}_quota'`)).toEqual([]);
});

test("if the administrator may not set parley.shard, names the statement to run for each database", async () => {
  const databases = await createDatabases(2);
  const { admin, migrateAs } = await createShards(databases);
  await query(inject("postgresUrl"), `CREATE ROLE ${admin} LOGIN CREATEROLE PASSWORD 'secret'`);
  for (const { name } of databases) await query(inject("postgresUrl"), `ALTER DATABASE ${name} OWNER TO ${admin}`);
  const run = () => migrateAs({ username: admin, password: "secret" });
  const { code, problems } = await run();
  expect(code).toBe(78);
  expect(problems).toEqual(
    databases.map(
      ({ name }, number) =>
        `quota: cannot migrate: shard ${number}: ${admin} may not set parley.shard of database ${name}; ` +
        `run as a superuser: ALTER DATABASE "${name}" SET parley.shard = '${number}';`,
    ),
  );
  for (const problem of problems)
    await query(inject("postgresUrl"), /run as a superuser: (.*)$/.exec(problem)?.[1] ?? "");
  expect(await run()).toMatchObject({ code: 0, problems: [""] });
});

test("refuses the roles of another installation's shards on the same server", async () => {
  const [own, others] = [await createDatabases(2), await createDatabases(2)];
  const { admin, migrate } = await createShards(own);
  expect(await migrate()).toMatchObject({ code: 0 });
  const other = await createShards(others);
  const shop = { DATABASE_ROLE_PREFIX: `${admin}_`, PARLEY_INSTALLATION: "shop/parley" };
  const { code, problems } = await other.migrate(shop);
  expect(code).toBe(78);
  expect(problems).toEqual([
    expect.stringContaining(
      `quota: cannot migrate: role ${admin}_quota belongs to database parley, installation chat/parley, and this is database parley, installation shop/parley; `,
    ),
  ]);
  const single = await other.migrate({ ...shop, DATABASE_SHARDS: "1", DATABASE_URL: others[0]?.url ?? "" });
  expect(single).toMatchObject({ code: 78 });
  expect(single.problems[0]).toContain(`role ${admin}_quota belongs to database parley, installation chat/parley`);
});
