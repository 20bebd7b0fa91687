import { readSecret, type SecretSource } from "@parley/service-kit/secrets";
import { CliError } from "../errors.ts";

/** The variables of `parley shards`, besides those of `parley migrate`. */
export type Variables = {
  databaseUrl: string | undefined;
  shards: {
    /** DATABASE_SHARDS */
    count: number;
    rolePrefix: string;
    roleSuffix: string;
    servers: SecretSource<Server[]> | undefined;
    routerAdminUrls: SecretSource<string[]> | undefined;
  };
};

export type Login = { user: string; password: string };

/** A PostgreSQL server that holds shards. `url` is for a superuser, and may contain a password. */
export type Server = { name: string; url: string };

/** What the commands of `parley shards` know of an installation. */
export type Settings = {
  /** The name of the sharded database. The databases of the shards add an underscore and their number. */
  database: string;
  shardCount: number;
  servers: readonly Server[];
  /** Leads to the sharded database of the router, as the administrator. */
  routerUrl: string;
  /** The role that owns the databases and runs the migrations, with the same password on all servers. */
  administrator: Login;
  /** The services' roles, such as `parley_quota`, or `parley_quota_2` with DATABASE_ROLE_SUFFIX. */
  roleOf: (schema: Schema) => string;
};

/** The schemas of a shard, by service. */
export const SCHEMAS = ["conversation", "quota", "llm"] as const;
export type Schema = (typeof SCHEMAS)[number];

const PURPOSE =
  "set it to the servers' URLs for superusers, as a=postgres://user:password@host:5432 b=…, or PARLEY_SHARD_SERVERS_FILE to a file of them";

/** Throws if a variable is missing. */
export function requireSettings({ databaseUrl, shards }: Variables): Settings {
  if (databaseUrl === undefined)
    throw new CliError("DATABASE_URL is not set: set it to the router's URL, as for parley migrate");
  if (shards.count < 2) throw new CliError("DATABASE_SHARDS is not set: set it to the number of shards, 2 to 64");
  if (shards.servers === undefined) throw new CliError(`PARLEY_SHARD_SERVERS is not set: ${PURPOSE}`);
  const database = decodeURIComponent(new URL(databaseUrl).pathname.slice(1));
  if (database === "") throw new CliError("DATABASE_URL names no database: set it to the router's sharded database");
  return {
    database,
    shardCount: shards.count,
    servers: readList(shards.servers),
    routerUrl: databaseUrl,
    administrator: loginOf(databaseUrl),
    roleOf: (schema) => `${shards.rolePrefix}${schema}${shards.roleSuffix}`,
  };
}

/** Returns the URLs of the routers' admin databases. Empty if PARLEY_ROUTER_ADMIN_URLS is not set. */
export function readRouterAdminUrls({ shards }: Pick<Variables, "shards">): readonly string[] {
  return shards.routerAdminUrls === undefined ? [] : readList(shards.routerAdminUrls);
}

function readList<T>(source: SecretSource<T>): T {
  try {
    return readSecret(source);
  } catch (error) {
    throw new CliError(error instanceof Error ? error.message : String(error));
  }
}

/** Parses `name=url` entries, separated by white space. The errors contain no URL, because a URL may contain a password. */
export function parseServers(text: string): Server[] {
  const servers = splitWords(text).map((entry) => {
    const [, name, url] = /^([A-Za-z0-9][A-Za-z0-9._-]{0,62})=(.+)$/.exec(entry) ?? [];
    if (name === undefined || url === undefined || !isPostgresUrl(url))
      throw new Error("must be name=url entries, such as a=postgres://user:password@host:5432");
    return { name, url };
  });
  if (servers.length === 0) throw new Error("is empty");
  if (new Set(servers.map(({ name }) => name)).size < servers.length) throw new Error("has a name twice");
  return servers;
}

/** Parses URLs, separated by white space. */
export function parseUrls(text: string): string[] {
  const urls = splitWords(text);
  if (!urls.every(isPostgresUrl)) throw new Error("must be URLs, such as postgres://admin:password@host:6432/admin");
  return urls;
}

const splitWords = (text: string) => text.split(/\s+/).filter((word) => word !== "");

const isPostgresUrl = (url: string) => URL.canParse(url) && /^postgres(ql)?:$/.test(new URL(url).protocol);

/** Returns the name of a shard's database. */
export const databaseOf = ({ database }: Pick<Settings, "database">, shard: number) => `${database}_${shard}`;

/** Returns the URL of the router's sharded database for a service's role. */
export function routerUrlFor({ routerUrl, roleOf }: Settings, schema: Schema, password: string): string {
  const url = new URL(routerUrl);
  url.username = encodeURIComponent(roleOf(schema));
  url.password = encodeURIComponent(password);
  return url.href;
}

/** Returns a server's address. Unlike a URL's, an IPv6 address has no brackets. */
export function addressOf({ url }: Server): { host: string; port: number } {
  const { hostname, port } = new URL(url);
  return { host: decodeURIComponent(hostname).replace(/^\[(.*)\]$/, "$1"), port: Number(port || 5432) };
}

/** Returns the URL of a database on a server, optionally for another role. */
export function urlOn(server: Server, database: string, login?: Login): string {
  const url = new URL(server.url);
  url.pathname = `/${encodeURIComponent(database)}`;
  if (login !== undefined) {
    url.username = encodeURIComponent(login.user);
    url.password = encodeURIComponent(login.password);
  }
  return url.href;
}

function loginOf(url: string): Login {
  const { username, password } = new URL(url);
  return { user: decodeURIComponent(username), password: decodeURIComponent(password) };
}
