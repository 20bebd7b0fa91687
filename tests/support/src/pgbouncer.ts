import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./ports.ts";
import { startProcess } from "./process.ts";
import { pgbouncerCommand } from "./requirements.ts";

export interface PgBouncerOptions {
  /** A URL of the PostgreSQL server. */
  serverUrl: string;
  /** Passwords of the roles that connect through the pooler. */
  passwords: Readonly<Record<string, string>>;
  /** Server connections for each pair of role and database. */
  poolSize: number;
  /** Prepared statements that the pooler tracks per connection; with 0 it does not support them. */
  maxPreparedStatements: number;
}

export interface PgBouncer {
  /** Replaces the server's address in a database URL with the pooler's. */
  through(url: string): string;
  /** URL of PgBouncer's admin console, which accepts commands such as SHOW CLIENTS. */
  adminConsoleUrl: string;
  stop(): Promise<void>;
}

const ADMIN = { name: "console", password: "console" };

/** Starts PgBouncer in transaction mode on 127.0.0.1, in front of every database of a server. */
export async function startPgBouncer(options: PgBouncerOptions): Promise<PgBouncer> {
  const command = pgbouncerCommand();
  if (command === undefined) throw new Error('no pgbouncer found; use describeWith("pgbouncer")');
  const port = await freePort();
  const directory = await mkdtemp(join(tmpdir(), "parley-pgbouncer-"));
  // PgBouncer may run as another user, who must be able to read the files.
  await chmod(directory, 0o755);
  const [configPath, usersPath] = [join(directory, "pgbouncer.ini"), join(directory, "users.txt")];
  const users = { ...options.passwords, [ADMIN.name]: ADMIN.password };
  await writeFile(
    usersPath,
    Object.entries(users)
      .map(([role, password]) => `"${role}" "${password}"\n`)
      .join(""),
  );
  const server = new URL(options.serverUrl);
  const settings = [
    "[databases]",
    `* = host=${server.hostname} port=${server.port}`,
    "[pgbouncer]",
    "listen_addr = 127.0.0.1",
    `listen_port = ${port}`,
    "unix_socket_dir =",
    "auth_type = scram-sha-256",
    `auth_file = ${usersPath}`,
    `admin_users = ${ADMIN.name}`,
    "pool_mode = transaction",
    `default_pool_size = ${options.poolSize}`,
    "max_client_conn = 500",
    `max_prepared_statements = ${options.maxPreparedStatements}`,
    // PgBouncer refuses to run as root.
    ...(process.getuid?.() === 0 ? ["user = nobody"] : []),
  ];
  await writeFile(configPath, settings.join("\n"));
  const pooler = await startProcess({ name: "PgBouncer", command, args: [configPath], ready: /process up/ });
  await pooler.waitReady();
  return {
    through: (url) => Object.assign(new URL(url), { hostname: "127.0.0.1", port: String(port) }).href,
    adminConsoleUrl: `postgres://${ADMIN.name}:${ADMIN.password}@127.0.0.1:${port}/pgbouncer`,
    async stop() {
      // SIGTERM would wait until every client has disconnected.
      await pooler.stop("SIGQUIT");
      await rm(directory, { recursive: true });
    },
  };
}
