import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { listErrorMessages } from "../preflight/collect.ts";
import { describeNetworkError } from "../preflight/network-error.ts";
import { sqlState } from "./database.ts";
import { listMigrationChecks } from "./migrate.ts";
import type { MigrateOptions } from "./migrate-options.ts";
import { createClient } from "./migration-lock.ts";

/** How long to wait for a server that starts, or for the network of a new pod. With CHECKS_MS below 30 s. */
const CONNECT_MS = 15_000;
const CONNECT_ATTEMPT_MS = 5_000;
const RETRY_DELAY_MS = 500;
const CHECKS_MS = 10_000;

const SERVER = "DATABASE_URL; chart: database.host and database.port, or migrations.database if it is set";
const TLS = "sslmode and sslrootcert in DATABASE_URL; chart: database.tls";
const NAME = "DATABASE_URL; chart: database.name";
const LOGIN =
  "DATABASE_URL and PGPASSWORD; chart: migrations.admin, whose existingSecret defaults to the value existingSecret";

/**
 * Returns all problems that would make migrate() fail with these options, each with the variable and the chart value to change. Changes
 * nothing. Ends within CONNECT_MS + CHECKS_MS. `inspect` is a further check.
 */
export async function findMigrationProblems(
  options: MigrateOptions,
  inspect: (client: pg.Client) => Promise<void> = async () => undefined,
): Promise<string[]> {
  let client: pg.Client;
  try {
    client = await connect(options);
  } catch (error) {
    return [describeConnectError(error, options.url)];
  }
  try {
    return await listErrorMessages([...listMigrationChecks(client, options), () => inspect(client)], CHECKS_MS);
  } finally {
    await client.end();
  }
}

/** Connects. Retries while the server does not accept connections, for up to CONNECT_MS. */
async function connect(options: MigrateOptions): Promise<pg.Client> {
  const deadlineMs = performance.now() + CONNECT_MS;
  for (;;) {
    const remainingMs = Math.max(1, deadlineMs - performance.now());
    const client = createClient(options, {
      connectionTimeoutMillis: Math.min(CONNECT_ATTEMPT_MS, remainingMs),
      query_timeout: CHECKS_MS,
    });
    // Without a listener, a lost connection would end the process with a stack trace. The next statement reports it.
    client.on("error", () => undefined);
    try {
      await client.connect();
      return client;
    } catch (error) {
      // pg leaves the connection open if it cannot answer the server's request for a password. The process would then not end.
      void client.end().catch(() => undefined);
      if (!isUnavailable(error) || performance.now() + RETRY_DELAY_MS >= deadlineMs) throw error;
    }
    await sleep(RETRY_DELAY_MS);
  }
}

/** SQLSTATE 57P03: the server starts or stops. 53300: it has no connection left. */
function isUnavailable(error: unknown): boolean {
  const layer = describeNetworkError(error, "")?.layer;
  return layer === "dns" || layer === "connection" || ["57P03", "53300"].includes(sqlState(error) ?? "");
}

function describeConnectError(error: unknown, url: string): string {
  const { hostname, port } = new URL(url);
  const network = describeNetworkError(error, `${hostname}:${port || 5432}`);
  if (network !== undefined) return `${network.message} (${network.layer === "tls" ? TLS : SERVER})`;
  const message = error instanceof Error ? error.message : String(error);
  if (/password must be a (non-empty )?string/.test(message)) return `the password is empty (${LOGIN})`;
  switch (sqlState(error)) {
    case "3D000":
      return `${message} (${NAME})`;
    case "28P01":
      return `${message} (${LOGIN})`;
    case "28000":
      return `${message} (${/no encryption|SSL/.test(message) ? TLS : LOGIN})`;
    case undefined:
      return `${message} (${/SSL|certificate|ENOENT/.test(message) ? TLS : SERVER})`;
    default:
      return `${message} (${SERVER})`;
  }
}
