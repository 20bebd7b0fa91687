import { setTimeout as sleep } from "node:timers/promises";
import { startTcpProxy, type TcpProxy, type TestPostgres } from "@parley/test-support";
import { copyTables, type Database, databasesOf, queryFirstRow } from "../database.ts";
import { SERVICES_WITH_DATABASE, type ServiceWithDatabase } from "../processes.ts";

/** A TCP proxy between each service and PostgreSQL, or the router. */
export type DatabaseProxies = Record<ServiceWithDatabase, TcpProxy>;

export async function startDatabaseProxies(url: string): Promise<DatabaseProxies> {
  const targetPort = Number(new URL(url).port);
  const start = async (service: ServiceWithDatabase) => [service, await startTcpProxy({ targetPort })] as const;
  return Object.fromEntries(await Promise.all(SERVICES_WITH_DATABASE.map(start))) as DatabaseProxies;
}

/** Returns the proxies' ports, for the option `databasePorts` of startSystem. */
export function portsOf(proxies: DatabaseProxies): Record<ServiceWithDatabase, number> {
  const ports = SERVICES_WITH_DATABASE.map((service) => [service, proxies[service].port] as const);
  return Object.fromEntries(ports) as Record<ServiceWithDatabase, number>;
}

export async function killDatabase(postgres: TestPostgres, downMs: number): Promise<void> {
  await postgres.kill9();
  await sleep(downMs);
  await postgres.restart();
}

/** Forwards nothing for `stallMs` and keeps every connection open. */
export async function stallDatabase(proxies: readonly TcpProxy[], stallMs: number): Promise<void> {
  for (const proxy of proxies) proxy.stall();
  await sleep(stallMs);
  await Promise.all(proxies.map((proxy) => proxy.resume()));
}

/** Makes the database's servers refuse writes for `readOnlyMs`, like a primary that was demoted in place. Connections stay open. */
export async function makeReadOnly(database: Database, readOnlyMs: number): Promise<void> {
  const servers = new Map(databasesOf(database).map(({ url }) => [new URL(url).host, { url }]));
  const setReadOnly = (value: "on" | "off") =>
    Promise.all(
      [...servers.values()].map((server) =>
        // Two queries, because several statements in one query are one transaction, in which PostgreSQL refuses ALTER SYSTEM.
        retry(async () => {
          await queryFirstRow(server, `ALTER SYSTEM SET default_transaction_read_only = ${value}`);
          await queryFirstRow(server, "SELECT pg_reload_conf()");
        }),
      ),
    );
  await setReadOnly("on");
  await sleep(readOnlyMs);
  await setReadOnly("off");
}

/**
 * Closes the services' connections, also those of a router. The connections that open in the next 2 s refuse writes; later ones can write, as after
 * a failover. Visitors must send messages during the call, so that the services open connections.
 */
export async function makeConnectionsReadOnly(database: Database, proxies: readonly TcpProxy[]): Promise<void> {
  const databases = databasesOf(database).map(({ url }) => ({ url, name: new URL(url).pathname.slice(1) }));
  const endSessions =
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() AND usename LIKE 'parley\\_%'";
  for (const { url, name } of databases)
    await queryFirstRow({ url }, `ALTER DATABASE "${name}" SET default_transaction_read_only = on`);
  for (const proxy of proxies) await proxy.drop();
  for (const { url } of databases) await queryFirstRow({ url }, endSessions);
  for (const proxy of proxies) await proxy.resume();
  await sleep(2_000);
  // READ WRITE, because these connections are read-only too.
  for (const { url, name } of databases)
    await queryFirstRow(
      { url },
      `BEGIN READ WRITE; ALTER DATABASE "${name}" RESET default_transaction_read_only; COMMIT`,
    );
  // A router keeps its connections, which stay read-only: the operator has to end them.
  if (database.shardUrls !== undefined) for (const { url } of databases) await queryFirstRow({ url }, endSessions);
}

/** The tables that a backup contains. */
const TABLES = {
  conversation: ["sessions", "messages", "turns", "outbox", "edges", "closed_turns", "task_leases"],
  quota: ["usage", "reservations", "ledger", "adjustments"],
} as const;

export type Backup = {
  /** The number of done turns, counted just after the backup. */
  done: number;
  /** Closes the service's connections and replaces its rows with the backup's. Returns how many done turns were lost; 0 for quota. */
  restore(): Promise<number>;
};

/** Copies a service's tables from one snapshot of one database. */
export async function backUp(
  database: Pick<Database, "url">,
  service: keyof typeof TABLES,
  proxy: TcpProxy,
): Promise<Backup> {
  const { copies, restoreSql } = await retry(() => copyTables(database, service, TABLES[service]));
  const done = await countDoneTurns(database);
  const countLost = `SELECT count(*)::integer AS lost FROM conversation.turns t WHERE status = 'done'
    AND NOT EXISTS (SELECT FROM ${copies.turns} c WHERE c.turn_id = t.turn_id AND c.status = 'done')`;
  return {
    done,
    async restore() {
      await proxy.drop();
      try {
        await retry(() =>
          queryFirstRow(
            database,
            `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND usename = 'parley_${service}'`,
          ),
        );
        const lost =
          service === "conversation"
            ? (await retry(() => queryFirstRow<{ lost: number }>(database, countLost))).lost
            : 0;
        await retry(() => queryFirstRow(database, `BEGIN; ${restoreSql} COMMIT`));
        await queryFirstRow(database, `DROP TABLE ${Object.values(copies).join(", ")}`).catch(() => undefined);
        return lost;
      } finally {
        await proxy.resume();
      }
    },
  };
}

export async function countDoneTurns(database: Pick<Database, "url">): Promise<number> {
  const sql = "SELECT count(*)::integer AS done FROM conversation.turns WHERE status = 'done'";
  return (await retry(() => queryFirstRow<{ done: number }>(database, sql))).done;
}

const RETRY_TIMEOUT_MS = 30_000;

/** Repeats work that fails while PostgreSQL restarts or another transaction holds a lock. */
async function retry<T>(work: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + RETRY_TIMEOUT_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await sleep(200);
    }
  }
}
