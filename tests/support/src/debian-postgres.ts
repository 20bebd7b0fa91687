import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { chown, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePort } from "./ports.ts";
import { startProcess } from "./process.ts";

const run = promisify(execFile);

const INSTALLATIONS = "/usr/lib/postgresql";
const USER = "postgres";
const MAX_DUMP_BYTES = 256 * 1024 * 1024;

/** Returns the directory with the commands of the newest installed version; undefined if none is installed. */
export function findDebianPostgres(): string | undefined {
  if (!existsSync(INSTALLATIONS)) return undefined;
  return readdirSync(INSTALLATIONS)
    .sort((a, b) => Number(b) - Number(a))
    .map((version) => join(INSTALLATIONS, version, "bin"))
    .find((bin) => ["initdb", "postgres", "pg_dump", "psql"].every((command) => existsSync(join(bin, command))));
}

export interface DebianPostgres {
  /** URL of the database `postgres` for a superuser. */
  url: string;
  dump(url: string): Promise<string>;
  /** Runs SQL with psql, which uses libpq. */
  psql(url: string, sql: string): Promise<string>;
  log(): string;
  stop(): Promise<void>;
}

/**
 * Starts Debian's PostgreSQL with a new data directory. Debian's PostgreSQL is older than that of @parley/local-postgres, and includes pg_dump
 * and psql.
 */
export async function startDebianPostgres(): Promise<DebianPostgres> {
  const bin = findDebianPostgres();
  if (bin === undefined) throw new Error('no Debian PostgreSQL found; use describeWith("debian-postgres")');
  const dir = await mkdtemp(join(tmpdir(), "parley-debian-postgres-"));
  const password = randomBytes(16).toString("hex");
  const passwordFile = join(dir, "password");
  await writeFile(passwordFile, password, { mode: 0o600 });
  // PostgreSQL refuses to run as root.
  const owner = process.getuid?.() === 0 ? await idsOf(USER) : undefined;
  if (owner) for (const path of [dir, passwordFile]) await chown(path, owner.uid, owner.gid);
  const asOwner = (command: string, ...args: string[]) =>
    owner
      ? { command: "setpriv", args: [`--reuid=${USER}`, `--regid=${USER}`, "--init-groups", command, ...args] }
      : { command, args };

  const dataDir = join(dir, "data");
  const init = asOwner(
    join(bin, "initdb"),
    ...[`--pgdata=${dataDir}`, `--username=${USER}`, `--pwfile=${passwordFile}`, "--auth=scram-sha-256"],
    ...["--encoding=UTF8", "--locale=C", "--no-sync"],
  );
  await run(init.command, init.args, { cwd: "/" });
  const port = await freePort();
  const server = await startProcess({
    name: "Debian's PostgreSQL",
    ...asOwner(
      join(bin, "postgres"),
      ...["-D", dataDir, "-c", "listen_addresses=127.0.0.1", "-c", `port=${port}`, "-c", "unix_socket_directories="],
      ...["-c", "max_connections=300", "-c", "fsync=off", "-c", "timezone=UTC"],
    ),
    cwd: "/",
    ready: /database system is ready to accept connections/,
  });
  await server.waitReady();
  return {
    url: `postgres://${USER}:${password}@127.0.0.1:${port}/postgres`,
    log: () => server.output(),
    async dump(url) {
      const { stdout } = await run(join(bin, "pg_dump"), [`--dbname=${url}`], { maxBuffer: MAX_DUMP_BYTES });
      return stdout;
    },
    async psql(url, sql) {
      const { stdout } = await run(join(bin, "psql"), [
        "--no-psqlrc",
        "--tuples-only",
        "--no-align",
        "--command",
        sql,
        url,
      ]);
      return stdout.trim();
    },
    async stop() {
      // SIGINT is PostgreSQL's fast shutdown, which closes open connections.
      await server.stop("SIGINT");
      await rm(dir, { recursive: true });
    },
  };
}

async function idsOf(user: string): Promise<{ uid: number; gid: number }> {
  const line = (await readFile("/etc/passwd", "utf8")).split("\n").find((entry) => entry.startsWith(`${user}:`));
  const [, , uid, gid] = line?.split(":") ?? [];
  if (uid === undefined || gid === undefined) throw new Error(`no user ${user}`);
  return { uid: Number(uid), gid: Number(gid) };
}
