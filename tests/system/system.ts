import { randomUUID } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createDatabase,
  type FakeProvider,
  type Script,
  startFakeProvider,
  type TestDatabase,
} from "@parley/test-support";
import { inject } from "vitest";
import { type AdminClients, createAdminClients } from "./admin.ts";
import { type Database, queryFirstRow } from "./database.ts";
import type {} from "./global-setup.ts";
import {
  createService,
  runMigrations,
  SERVICE_ROLE_PASSWORD,
  type ServiceName,
  type ServiceProcess,
  type ServiceWithDatabase,
} from "./processes.ts";
import { type Sso, startSso } from "./servers/sso.ts";
import { createShards, isSharded, readTestShards, type TestShards } from "./shards.ts";

export type SystemOptions = {
  /** Number of edge processes; 1 by default. */
  edges?: number;
  /** The Redis that the edges share. Without it each edge enforces its limits alone. */
  redisUrl?: string;
  /** Script of the fake provider. By default the model's name determines the reply. */
  script?: Script;
  /** Returns the content of the LLM_CONFIG file. By default OPENAI_BASE_URL makes llm-proxy use the fake provider. */
  llmConfig?: (providerUrl: string) => object;
  /** The number of databases behind a router; by default PARLEY_TEST_SHARDS, or one database without a router. */
  shards?: number;
  /** The PostgreSQL server to create the database on; by default the test run's server. */
  databaseServerUrl?: string;
  /** A migrated database; by default a new one. `stop` drops it. */
  database?: TestDatabase;
  /** Ports on 127.0.0.1 through which services reach the database server, for example the ports of a proxy that injects faults. */
  databasePorts?: Partial<Record<ServiceWithDatabase, number>>;
  /** Called after the migrations and before any service starts. */
  prepareDatabase?: (database: TestDatabase) => Promise<void>;
  /** Environment variables by service, which override the defaults. */
  env?: Partial<Record<"edge" | "conversation" | "quota" | "llm-proxy", Record<string, string>>>;
};

export type ServiceEnvironments = Record<ServiceName, Record<string, string>>;

export type Replicas = {
  edges: ServiceProcess[];
  /** Returns the public origin of an edge, by default the first. */
  url(edge?: number): string;
  /** Starts another replica of a service, with additional environment variables. `stop` stops it too. */
  startReplica(name: ServiceWithDatabase, env?: Record<string, string>): Promise<ServiceProcess>;
  /** Starts another edge, with additional environment variables. `stop` stops it too. */
  startEdge(env?: Record<string, string>): Promise<ServiceProcess>;
  stop(): Promise<void>;
};

/** An installation of Parley without the console: a database, the four services as processes, an identity provider and the fake provider. */
export type System = Replicas & {
  conversation: ServiceProcess;
  quota: ServiceProcess;
  llm: ServiceProcess;
  env: ServiceEnvironments;
  admin: AdminClients;
  sso: Sso;
  provider: FakeProvider;
  /** With shards, the sharded database behind the router. */
  database: TestDatabase & Database;
  /** Undefined without a router. */
  shards: TestShards | undefined;
};

const SCHEMAS = { conversation: "conversation", quota: "quota", "llm-proxy": "llm" } as const satisfies Record<
  ServiceWithDatabase,
  string
>;
/** The API key with which llm-proxy calls the provider. */
export const PROVIDER_KEY = "sk-key-of-the-tests";

/** Starts an installation and waits until every service is ready. If a service does not start, stops the others and rejects. */
export async function startSystem(options: SystemOptions = {}): Promise<System> {
  await using resources = new AsyncDisposableStack();
  const database = options.database ?? (await createDatabaseOf(options));
  resources.defer(() => database.drop());
  const shards = isSharded(database) ? database : undefined;
  const sso = resources.adopt(await startSso(), (started) => started.stop());
  const provider = resources.adopt(await startFakeProvider(options.script), (started) => started.close());
  // The tests' PostgreSQL server commits asynchronously by default. Some tests kill the database, which must lose no commit, as in production.
  for (const { name, url } of shards?.shards ?? [database])
    await queryFirstRow({ url }, `ALTER DATABASE "${name}" SET synchronous_commit = on`);
  const directory = await mkdtemp(join(tmpdir(), "parley-test-"));
  resources.defer(() => rm(directory, { recursive: true }));
  await options.prepareDatabase?.(database);

  const jwt = {
    JWT_ISSUER: sso.issuer,
    JWT_AUDIENCE: sso.audience,
    JWKS_URL: sso.jwksUrl,
    JWT_ROLE_CLAIM: "roles",
    JWT_OWNER_ROLES: "parley-owner",
    JWT_AGENT_ROLES: "parley-agent",
    JWT_VIEWER_ROLES: "parley-viewer",
  };
  const databaseOf = (name: ServiceWithDatabase) => {
    const url = new URL(serviceDatabaseUrl(database.url, name));
    url.port = String(options.databasePorts?.[name] ?? url.port);
    return { DATABASE_URL: url.href, ...(shards && { DATABASE_SHARDS: String(shards.shards.length) }) };
  };
  const quota = await createService("quota", {
    ...databaseOf("quota"),
    ...jwt,
    ...options.env?.quota,
  });
  const llm = await createService("llm-proxy", {
    ...databaseOf("llm-proxy"),
    OPENAI_API_KEY: PROVIDER_KEY,
    OPENAI_BASE_URL: provider.url,
    ...(options.llmConfig && { LLM_CONFIG: await writeConfig(directory, options.llmConfig(provider.url)) }),
    ...jwt,
    ...options.env?.["llm-proxy"],
  });
  const conversation = await createService("conversation", {
    ...databaseOf("conversation"),
    QUOTA_TARGET: `127.0.0.1:${quota.port}`,
    LLM_TARGET: `127.0.0.1:${llm.port}`,
    ...jwt,
    ENCRYPTION_KEY: "encryption-key-of-the-tests-0123456789",
    // No server listens there. Tests of e-mail start their own.
    SMTP_URL: "smtp://127.0.0.1:9?tls=off",
    MAIL_FROM: "parley@sender.example",
    ...options.env?.conversation,
  });
  const env: ServiceEnvironments = {
    quota: quota.env,
    "llm-proxy": llm.env,
    conversation: conversation.env,
    edge: {
      CONVERSATION_TARGET: `127.0.0.1:${conversation.port}`,
      QUOTA_TARGET: `127.0.0.1:${quota.port}`,
      LLM_TARGET: `127.0.0.1:${llm.port}`,
      ...jwt,
      ...(options.redisUrl === undefined ? {} : { REDIS_URL: options.redisUrl }),
      ...options.env?.edge,
    },
  };
  const replicas = createReplicas(env);
  resources.defer(() => quota.stop());
  resources.defer(async () => void (await Promise.all([conversation.stop(), llm.stop()])));
  resources.defer(() => replicas.stop());
  const edges = Array.from({ length: options.edges ?? 1 }, () => replicas.startEdge());
  await Promise.all([quota.start(), llm.start(), conversation.start(), ...edges]);

  const running = resources.move();
  return {
    ...replicas,
    conversation,
    quota,
    llm,
    env,
    admin: createAdminClients({ conversation: conversation.opsPort, quota: quota.opsPort, llm: llm.opsPort }),
    sso,
    provider,
    database,
    shards,
    stop: () => running.disposeAsync(),
  };
}

/** Starts nothing yet: the returned functions start edges and replicas with the environment variables in `env`. */
export function createReplicas(env: ServiceEnvironments): Replicas {
  const edges: ServiceProcess[] = [];
  const replicas: ServiceProcess[] = [];
  return {
    edges,
    url(edge = 0) {
      const port = edges[edge]?.port;
      if (port === undefined) throw new Error(`there is no edge ${edge}`);
      return `http://127.0.0.1:${port}`;
    },
    async startReplica(name, more) {
      const replica = await createService(name, { ...env[name], ...more });
      replicas.push(replica);
      await replica.start();
      return replica;
    },
    async startEdge(more) {
      const edge = await createService("edge", { ...env.edge, ...more });
      edges.push(edge);
      await edge.start();
      return edge;
    },
    async stop() {
      // On SIGTERM an edge would wait 2.5 s for the idle connections that fetch keeps open.
      await Promise.all(edges.map((edge) => edge.process().kill9()));
      await Promise.all(replicas.map((replica) => replica.stop()));
    },
  };
}

/** A server or ports of the options exclude shards, because the services then use no router. */
function createDatabaseOf({ shards, databaseServerUrl, databasePorts }: SystemOptions): Promise<TestDatabase> {
  const isOneDatabase = databaseServerUrl !== undefined || databasePorts !== undefined;
  return createSystemDatabase(databaseServerUrl, isOneDatabase ? 1 : shards);
}

/** Creates one migrated database, or several shards behind a router. By default on the test run's server, and PARLEY_TEST_SHARDS. */
export function createSystemDatabase(serverUrl?: string, shards = readTestShards()): Promise<TestDatabase> {
  return shards === 1 ? createMigratedDatabase(serverUrl) : createShards(shards, serverUrl ?? inject("postgresUrl"));
}

/** Copies the migrated template database of the test run's server, or migrates a new database on another server. */
async function createMigratedDatabase(serverUrl: string | undefined): Promise<TestDatabase> {
  if (serverUrl === undefined) return createDatabase(undefined, { template: inject("migratedDatabase") });
  const database = await createDatabase(undefined, { serverUrl });
  const services = Object.keys(SCHEMAS) as ServiceWithDatabase[];
  await Promise.all(services.map((name) => runMigrations(name, database.url, SERVICE_ROLE_PASSWORD)));
  return database;
}

async function writeConfig(directory: string, config: object): Promise<string> {
  const path = join(directory, "llm.yaml");
  // JSON is valid YAML.
  await writeFile(path, JSON.stringify(config));
  return path;
}

/**
 * Returns provider settings for LLM_CONFIG that keep tests of failures short: `timeoutMs` for the first token and for a silence, and two
 * attempts with little delay. The circuit breaker opens only after 1,000 failures, which no test reaches.
 */
export function failFastSettings(timeoutMs: number) {
  return {
    timeouts: { first_token_ms: timeoutMs, silence_ms: timeoutMs },
    retries: { max_attempts: 2, base_delay_ms: 10 },
    breaker: { failures: 1_000 },
  };
}

/** Returns the database URL with the service's role and password. */
export function serviceDatabaseUrl(adminUrl: string, service: ServiceWithDatabase): string {
  const url = new URL(adminUrl);
  url.username = `parley_${SCHEMAS[service]}`;
  url.password = SERVICE_ROLE_PASSWORD;
  return url.href;
}

export type Tenant = { workspaceId: string; botSlug: string; publicKey: string; origin: string };

/** Creates a workspace with a bot and a public key for `domain`. */
export async function createTenant(
  admin: AdminClients,
  {
    plan = "pro",
    model = "openai:default",
    domain = "shop.example",
  }: { plan?: string; model?: string; domain?: string } = {},
): Promise<Tenant> {
  const { workspace } = await admin.workspaces.createWorkspace({ name: "Test workspace", plan });
  const workspaceId = workspace?.id ?? "";
  const botSlug = `bot-${randomUUID().slice(0, 8)}`;
  await admin.bots.createBot({ workspaceId, slug: botSlug, changes: { model, name: "Test bot" } });
  const { key } = await admin.keys.createKey({ workspaceId, botSlug, domains: [domain] });
  return { workspaceId, botSlug, publicKey: key?.publicKey ?? "", origin: `https://${domain}` };
}
