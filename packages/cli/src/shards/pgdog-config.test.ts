import { expect, test } from "vitest";
import { type ConfigFile, createConfigFile } from "./pgdog-config.ts";

const a = { name: "a", url: "postgres://postgres:secret@a.example.com:5433/postgres" };
const b = { name: "b", url: "postgres://postgres:secret@b.example.com" };
const settings = {
  database: "parley",
  shardCount: 2,
  servers: [a, b],
  routerUrl: "postgres://parley_admin:secret@router:6432/parley",
  administrator: { user: "parley_admin", password: "secret" },
  roleOf: (schema: string) => `parley_${schema}`,
};
const create = (file: ConfigFile) =>
  createConfigFile(
    file,
    settings,
    [
      { shard: 0, server: a },
      { shard: 1, server: b },
    ],
    { poolSize: 5, aliasPoolSize: 2 },
  );

test("pgdog.toml has each shard in the sharded database and as an alias, without a password", () => {
  expect(create("pgdog.toml")).toBe(`[general]
# Without strict mode, a statement without workspace_id runs on every shard.
cross_shard_disabled = true
prepared_statements = "extended"
pooler_mode = "transaction"
checkout_timeout = 5000

[[databases]]
name = "parley"
host = "a.example.com"
port = 5433
database_name = "parley_0"
shard = 0

[[databases]]
name = "parley"
host = "b.example.com"
port = 5432
database_name = "parley_1"
shard = 1

[[databases]]
name = "parley_0"
host = "a.example.com"
port = 5433
database_name = "parley_0"

[[databases]]
name = "parley_1"
host = "b.example.com"
port = 5432
database_name = "parley_1"

[[sharded_tables]]
database = "parley"
column = "workspace_id"
data_type = "varchar"
`);
});

test("users.toml has each role for its databases, in session mode for the administrator, with variables for the passwords", () => {
  const users = create("users.toml");
  expect(users).not.toContain("secret");
  expect(users.split("[[users]]")).toHaveLength(1 + 3 * 3 + 2);
  expect(users).toContain(`[[users]]
name = "parley_quota"
pooler_mode = "transaction"
database = "parley_1"
pool_size = 2
password = '''\${QUOTA_DATABASE_PASSWORD}'''
`);
  expect(users).toContain(`[[users]]
name = "parley_admin"
database = "parley_1"
pool_size = 10
pooler_mode = "session"
password = '''\${DATABASE_ADMIN_PASSWORD}'''
`);
});

test("the values of PgDog's chart have strict mode, the same databases and no password", () => {
  const values = create("values.yaml");
  expect(values).not.toContain("secret@");
  expect(values).toContain("\ncrossShardDisabled: true\n");
  expect(values).toContain(`databases:
  - {"name":"parley","host":"a.example.com","port":5433,"databaseName":"parley_0","shard":0}
  - {"name":"parley","host":"b.example.com","port":5432,"databaseName":"parley_1","shard":1}
  - {"name":"parley_0","host":"a.example.com","port":5433,"databaseName":"parley_0"}
  - {"name":"parley_1","host":"b.example.com","port":5432,"databaseName":"parley_1"}
shardedTables:
  - {"database":"parley","column":"workspace_id","dataType":"varchar"}
`);
});

test("a server's IPv6 address has no brackets", () => {
  const server = { name: "c", url: "postgres://postgres:secret@[fd00::7]:5434" };
  const toml = createConfigFile("pgdog.toml", settings, [{ shard: 0, server }], { poolSize: 5, aliasPoolSize: 2 });
  expect(toml).toContain('host = "fd00::7"\nport = 5434\n');
});
