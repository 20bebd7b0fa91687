import { execFileSync } from "node:child_process";
import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { findDebianPostgres } from "./debian-postgres.ts";

/** A program or file system that some suites need and a machine may lack. */
export type Requirement = keyof typeof requirements;

const requirements = {
  /** A Redis server that the test starts, or the one at PARLEY_TEST_REDIS_URL. */
  redis: { isMet: isRedisAvailable, remedy: "install redis-server or valkey-server, or set PARLEY_TEST_REDIS_URL" },
  /**
   * A Redis process that the test can pause and kill. If PARLEY_TEST_REDIS_URL is set, startRedis may return a server that the test cannot
   * pause or kill.
   */
  "redis-server": {
    isMet: () => !process.env.PARLEY_TEST_REDIS_URL && hasRedisServer(),
    remedy: "install redis-server or valkey-server, and unset PARLEY_TEST_REDIS_URL",
  },
  /** The proc file system, for the memory and children of a process. */
  proc: { isMet: () => existsSync("/proc/self/status"), remedy: "run on Linux" },
  nginx: { isMet: () => nginxCommand() !== undefined, remedy: "install Debian's nginx" },
  prometheus: { isMet: () => prometheusCommands() !== undefined, remedy: "install Debian's prometheus" },
  /** Debian's PostgreSQL server, with pg_dump and psql. */
  "debian-postgres": { isMet: () => findDebianPostgres() !== undefined, remedy: "install Debian's postgresql" },
  /** A PostgreSQL pooler that can track prepared statements. */
  pgbouncer: { isMet: hasPgBouncer, remedy: "install PgBouncer 1.21 or newer; Debian has it from version 13 on" },
  chromium: { isMet: () => chromiumCommand() !== undefined, remedy: "install Debian's chromium, or Google Chrome" },
  /** WordPress's files and PHP, without a database. */
  wordpress: { isMet: hasWordPress, remedy: "install Debian's php-cli and wordpress" },
} as const;

export function isRequirementMet(requirement: Requirement): boolean {
  return requirements[requirement].isMet();
}

/** Returns whether startRedis can return a server. */
export function isRedisAvailable(): boolean {
  return Boolean(process.env.PARLEY_TEST_REDIS_URL) || hasRedisServer();
}

export function chromiumCommand(): string | undefined {
  return findCommand("chromium", "chromium-browser", "google-chrome");
}

/** Chromium's headless shell has no window, and loads a page in a third of Chromium's time. */
export function headlessChromiumCommand(): string | undefined {
  return findCommand("chromium-headless-shell");
}

/** Debian installs nginx in /usr/sbin, which may not be on the PATH. */
export function nginxCommand(): string | undefined {
  return findCommand("nginx") ?? ["/usr/sbin/nginx"].find(isExecutable);
}

/** Debian installs PgBouncer in /usr/sbin, which may not be on the PATH. */
export function pgbouncerCommand(): string | undefined {
  return findCommand("pgbouncer") ?? ["/usr/sbin/pgbouncer"].find(isExecutable);
}

function hasPgBouncer(): boolean {
  const command = pgbouncerCommand();
  if (command === undefined) return false;
  const [, major, minor] =
    /^PgBouncer (\d+)\.(\d+)/.exec(execFileSync(command, ["--version"], { encoding: "utf8" })) ?? [];
  return Number(major) > 1 || Number(minor) >= 21;
}

export function phpCommand(): string | undefined {
  return findCommand("php");
}

/** Directory of Debian's WordPress. */
export const wordpressPath = "/usr/share/wordpress";

function hasWordPress(): boolean {
  return phpCommand() !== undefined && existsSync(join(wordpressPath, "wp-includes/script-loader.php"));
}

export function prometheusCommands(): { prometheus: string; promtool: string } | undefined {
  const [prometheus, promtool] = [findCommand("prometheus"), findCommand("promtool")];
  return prometheus && promtool ? { prometheus, promtool } : undefined;
}

/** Returns the absolute path of the first of these commands that is on the PATH. */
export function findCommand(...names: string[]): string | undefined {
  const dirs = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  return names.flatMap((name) => dirs.map((dir) => join(dir, name))).find(isExecutable);
}

/** A key of `globalThis`, which all Vitest projects of a run share. Each project loads its own copy of this module. */
const REPORTED = Symbol.for("parley.test.missing-requirements-reported");

/**
 * If this machine lacks requirements, warns that some suites are skipped. With PARLEY_REQUIRE_ALL=1, throws instead. Each project of a run
 * calls this function. Only the first call warns.
 */
export function reportMissingRequirements(warn: (text: string) => void = console.warn): void {
  const missing = Object.entries(requirements).filter(([, { isMet }]) => !isMet());
  if (missing.length === 0) return;
  const lines = missing.map(([name, { remedy }]) => `  ${name}: ${remedy}`);
  if (process.env.PARLEY_REQUIRE_ALL === "1")
    throw new Error(`PARLEY_REQUIRE_ALL is set, and this machine lacks\n${lines.join("\n")}`);
  if (Reflect.get(globalThis, REPORTED) === true) return;
  Reflect.set(globalThis, REPORTED, true);
  const bar = "!".repeat(80);
  warn([bar, "SUITES ARE SKIPPED: this machine lacks", ...lines, bar].join("\n"));
}

function hasRedisServer(): boolean {
  return findCommand("redis-server", "valkey-server") !== undefined;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
