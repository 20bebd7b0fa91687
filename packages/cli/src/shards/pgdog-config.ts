import { addressOf, SCHEMAS, type Server, type Settings } from "./settings.ts";

export const CONFIG_FILES = ["pgdog.toml", "users.toml", "values.yaml"] as const;
export type ConfigFile = (typeof CONFIG_FILES)[number];

/** Where a shard is. */
export type Placement = { shard: number; server: Server };

export type PoolSizes = { poolSize: number; aliasPoolSize: number };

/** The migrations hold a lock in a session, and each needs more than one connection. */
const ADMINISTRATOR_POOL_SIZE = 10;
/** In milliseconds. Below the 12 s after which a service gives up. */
const CHECKOUT_TIMEOUT_MS = 5_000;

type Database = { name: string; host: string; port: number; databaseName: string; shard?: number };
/** `password` is the name of a variable. */
type User = { name: string; database: string; password: string; poolSize: number; poolerMode: string };

/** Returns a file of the router's configuration. The passwords are references to variables, which envsubst replaces. */
export function createConfigFile(
  file: ConfigFile,
  settings: Settings,
  placements: readonly Placement[],
  pools: PoolSizes,
): string {
  switch (file) {
    case "pgdog.toml":
      return createPgdogToml(settings.database, listDatabases(settings, placements));
    case "users.toml":
      return listUsers(settings, pools)
        .map(({ password, ...user }) => formatTable("users", toSnakeCase(user)) + formatReference("password", password))
        .join("\n");
    case "values.yaml":
      return createHelmValues(settings.database, listDatabases(settings, placements));
  }
}

function listDatabases({ database }: Settings, placements: readonly Placement[]): Database[] {
  const places = placements.map(({ shard, server }) => ({
    ...addressOf(server),
    databaseName: `${database}_${shard}`,
    shard,
  }));
  const aliases = places.map(({ shard, ...place }) => ({ name: `${database}_${shard}`, ...place }));
  return [...places.map((place) => ({ name: database, ...place })), ...aliases];
}

function listUsers(
  { database, shardCount, roleOf, administrator }: Settings,
  { poolSize, aliasPoolSize }: PoolSizes,
): User[] {
  const aliases = Array.from({ length: shardCount }, (_, shard) => `${database}_${shard}`);
  const services = SCHEMAS.flatMap((schema) => {
    const login = {
      name: roleOf(schema),
      password: `${schema.toUpperCase()}_DATABASE_PASSWORD`,
      poolerMode: "transaction",
    };
    return [
      { ...login, database, poolSize },
      ...aliases.map((alias) => ({ ...login, database: alias, poolSize: aliasPoolSize })),
    ];
  });
  const migrations = aliases.map((alias) => ({
    name: administrator.user,
    password: "DATABASE_ADMIN_PASSWORD",
    database: alias,
    poolSize: ADMINISTRATOR_POOL_SIZE,
    poolerMode: "session",
  }));
  return [...services, ...migrations];
}

function createPgdogToml(database: string, databases: readonly Database[]): string {
  return [
    `[general]
# Without strict mode, a statement without workspace_id runs on every shard.
cross_shard_disabled = true
prepared_statements = "extended"
pooler_mode = "transaction"
checkout_timeout = ${CHECKOUT_TIMEOUT_MS}
`,
    ...databases.map((each) => formatTable("databases", toSnakeCase(each))),
    formatTable("sharded_tables", { database, column: "workspace_id", data_type: "varchar" }),
  ].join("\n");
}

/** Values of PgDog's chart. JSON strings are YAML strings too. */
function createHelmValues(database: string, databases: readonly Database[]): string {
  return `# Without strict mode, a statement without workspace_id runs on every shard.
crossShardDisabled: true
preparedStatements: extended
poolerMode: transaction
checkoutTimeout: ${CHECKOUT_TIMEOUT_MS}
replicas: 2
# Starts the pods again after a change of this file.
restartOnConfigChange: true
# A Secret with the file users.toml.
usersSecret:
  name: pgdog-users
# The password of the admin database.
env:
  - name: PGDOG_ADMIN_PASSWORD
    valueFrom:
      secretKeyRef:
        name: pgdog-users
        key: admin-password
databases:
${databases.map((each) => `  - ${JSON.stringify(each)}\n`).join("")}shardedTables:
  - ${JSON.stringify({ database, column: "workspace_id", dataType: "varchar" })}
`;
}

function formatTable(name: string, fields: Record<string, string | number>): string {
  // JSON strings are TOML basic strings too.
  const lines = Object.entries(fields).map(([key, value]) => `${key} = ${JSON.stringify(value)}\n`);
  return `[[${name}]]\n${lines.join("")}`;
}

/** A literal string of TOML: the password that envsubst inserts may contain quotes and backslashes. */
const formatReference = (key: string, variable: string) => `${key} = '''\${${variable}}'''\n`;

/** PgDog's files have snake_case names, and the values of its chart have camelCase names. */
function toSnakeCase(fields: Record<string, string | number>): Record<string, string | number> {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [
      key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );
}
