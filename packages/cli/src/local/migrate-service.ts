import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { CliError } from "../errors.ts";

/** The services that own a schema. */
export const MIGRATED_SERVICES = ["conversation", "quota", "llm-proxy"] as const;
export type MigratedService = (typeof MIGRATED_SERVICES)[number];

export type MigrateRequest = {
  /** URL of a role that may create schemas and, with `rolePassword`, roles. */
  databaseUrl: string;
  /** Becomes the password of the service's role. */
  rolePassword?: string | undefined;
  /** What else the process is given. */
  machine: Readonly<Record<string, string>>;
};

export type ServiceMigration = {
  /** The names of the migrations that were applied. */
  applied: string[];
  /** The newest migration of a schema that a newer version has migrated. */
  newer?: string;
};

/** Node before 22.18 runs TypeScript only when told to. */
export const NODE_FLAGS = ["--experimental-strip-types", "--disable-warning=ExperimentalWarning"];

const TIMEOUT_MS = 600_000;

/** Runs a service's migrations in a process of their own. Throws CliError with the process's last line on stderr. */
export async function migrateService(service: MigratedService, request: MigrateRequest): Promise<ServiceMigration> {
  const script = fileURLToPath(new URL(`../../../../services/${service}/src/migrate.ts`, import.meta.url));
  const env = {
    ...request.machine,
    DATABASE_URL: request.databaseUrl,
    ...(request.rolePassword !== undefined && { DATABASE_PASSWORD: request.rolePassword }),
  };
  try {
    const { stdout } = await promisify(execFile)(process.execPath, [...NODE_FLAGS, script], {
      env,
      timeout: TIMEOUT_MS,
    });
    const newer = /: schema is newer than this version \((.+)\)/.exec(stdout)?.[1];
    const applied = lines(stdout).flatMap((line) => /: applied (.+)$/.exec(line)?.[1] ?? []);
    return { applied, ...(newer !== undefined && { newer }) };
  } catch (cause) {
    const said = lines((cause as { stderr?: string }).stderr ?? "");
    throw new CliError(said.at(-1) ?? `${service}: the migration ended without a word`, { cause });
  }
}

function lines(text: string): string[] {
  return text.split("\n").filter((line) => line.trim() !== "");
}
