import { Argument, type CommandUnknownOpts } from "@commander-js/extra-typings";
import type { Context } from "../context.ts";
import { CliError } from "../errors.ts";
import {
  MIGRATED_SERVICES,
  type MigratedService,
  migrateService,
  type ServiceMigration,
} from "../local/migrate-service.ts";
import { printable } from "../output/printable.ts";
import type { Result } from "../output/result.ts";

export function addMigrateCommand(program: CommandUnknownOpts, context: Context): void {
  program
    .command("migrate")
    .description("Migrate the schemas in DATABASE_URL.")
    .addArgument(new Argument("[service]", "Choose the service (default: all).").choices(MIGRATED_SERVICES))
    .addHelpText(
      "after",
      `
Running this command repeatedly or concurrently is safe. To create the services' roles or change their passwords, use
an administrator's DATABASE_URL and set CONVERSATION_DATABASE_PASSWORD, QUOTA_DATABASE_PASSWORD and LLM_DATABASE_PASSWORD.
The roles belong to one database, and to the installation in PARLEY_INSTALLATION if it is set. The command refuses roles of another
one: DATABASE_ROLE_PREFIX (default: parley_) gives this one roles of its own. With DATABASE_SHARDS, DATABASE_URL leads to a
router, and the command migrates every shard.`,
    )
    .action((service) => context.report(migrateServices(context, service ? [service] : MIGRATED_SERVICES)));
}

async function migrateServices({ config, progress }: Context, services: readonly MigratedService[]): Promise<Result> {
  const { databaseUrl, rolePasswords, migrationVariables, systemVariables } = config;
  if (databaseUrl === undefined) {
    throw new CliError(
      "DATABASE_URL is not set: set it to the database's URL (pnpm start migrates the local database itself)",
    );
  }
  const results = [];
  for (const service of services) {
    progress(`migrating ${service} …`);
    const migration = await migrateService(service, {
      databaseUrl,
      rolePassword: rolePasswords[service],
      migrationVariables,
      systemVariables,
    });
    results.push({ service, ...migration });
  }
  return {
    json: results.map(({ service, applied, newerMigration }) => ({
      service,
      applied,
      ...(newerMigration !== undefined && { newer_migration: newerMigration }),
    })),
    text: results.map(({ service, ...migration }) => describe(service, migration)).join(""),
  };
}

function describe(service: string, { applied, newerMigration }: ServiceMigration): string {
  const lines = applied.map((name) => `applied ${printable(name)}`);
  if (newerMigration !== undefined) {
    lines.push(`schema (${printable(newerMigration)}) is newer than this version; nothing to do`);
  }
  if (lines.length === 0) lines.push("up to date");
  return lines.map((line) => `${service}: ${line}\n`).join("");
}
