import { accessSync, constants, existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { debianPostgres } from "./debian-postgres.ts";

/** What some suites need and a machine may lack. */
export type Requirement = keyof typeof requirements;

const requirements = {
  /** A Redis that answers. */
  redis: { isMet: redisAvailable, remedy: "install redis-server or valkey-server, or set PARLEY_TEST_REDIS_URL" },
  /** A Redis process of the test's own, which it may pause and kill. */
  "redis-server": { isMet: hasRedisServer, remedy: "install redis-server or valkey-server" },
  /** The kernel's account of each process's memory and children. */
  proc: { isMet: () => existsSync("/proc/self/status"), remedy: "run on Linux" },
  /** A proxy as installations have it in front. */
  nginx: { isMet: () => nginxCommand() !== undefined, remedy: "install Debian's nginx" },
  /** Prometheus and its tool, for the dashboards and the alerts. */
  prometheus: { isMet: () => prometheusCommands() !== undefined, remedy: "install Debian's prometheus" },
  /** A PostgreSQL of the oldest version that Parley runs on, or near it, and its pg_dump. */
  "debian-postgres": { isMet: () => debianPostgres() !== undefined, remedy: "install Debian's postgresql" },
  /** A browser for the widget. */
  chromium: { isMet: () => chromiumCommand() !== undefined, remedy: "install Debian's chromium, or Google Chrome" },
  /** What many of the sites run on that the widget stands on; its files are enough, its database is not asked. */
  wordpress: { isMet: hasWordPress, remedy: "install Debian's php-cli and wordpress" },
} as const;

export function isMet(requirement: Requirement): boolean {
  return requirements[requirement].isMet();
}

/** Whether startRedis can give a server. */
export function redisAvailable(): boolean {
  return Boolean(process.env.PARLEY_TEST_REDIS_URL) || hasRedisServer();
}

/** The machine's own Chromium, as an absolute path. */
export function chromiumCommand(): string | undefined {
  return findCommand("chromium", "chromium-browser", "google-chrome");
}

/** The same without the windows around its pages, which nobody sees: a page then takes a third of the time. */
export function headlessChromiumCommand(): string | undefined {
  return findCommand("chromium-headless-shell");
}

/** The machine's own nginx, as an absolute path; it may lie where only administrators look. */
export function nginxCommand(): string | undefined {
  return findCommand("nginx") ?? ["/usr/sbin/nginx"].find(isExecutable);
}

/** The machine's own PHP, as an absolute path. */
export function phpCommand(): string | undefined {
  return findCommand("php");
}

/** Where Debian has WordPress. */
export const wordpressPath = "/usr/share/wordpress";

function hasWordPress(): boolean {
  return phpCommand() !== undefined && existsSync(join(wordpressPath, "wp-includes/script-loader.php"));
}

/** The machine's own Prometheus and promtool, as absolute paths. */
export function prometheusCommands(): { prometheus: string; promtool: string } | undefined {
  const [prometheus, promtool] = [findCommand("prometheus"), findCommand("promtool")];
  return prometheus && promtool ? { prometheus, promtool } : undefined;
}

/** The first of the commands that is on the PATH, as an absolute path. */
export function findCommand(...names: string[]): string | undefined {
  const dirs = (process.env.PATH ?? "").split(delimiter).filter(Boolean);
  return names.flatMap((name) => dirs.map((dir) => join(dir, name))).find(isExecutable);
}

/**
 * Says loudly what this machine lacks and which suites are therefore left out. With PARLEY_REQUIRE_ALL=1 it throws
 * instead.
 */
export function reportMissing(say: (text: string) => void = console.warn): void {
  const missing = Object.entries(requirements).filter(([, { isMet }]) => !isMet());
  if (missing.length === 0) return;
  const lines = missing.map(([name, { remedy }]) => `  ${name}: ${remedy}`);
  if (process.env.PARLEY_REQUIRE_ALL === "1")
    throw new Error(`PARLEY_REQUIRE_ALL is set, and this machine lacks\n${lines.join("\n")}`);
  const bar = "!".repeat(80);
  say([bar, "SUITES ARE LEFT OUT: this machine lacks", ...lines, bar].join("\n"));
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
