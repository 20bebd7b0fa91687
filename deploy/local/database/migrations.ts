import { MIGRATED_SERVICES, type MigratedService, migrateService } from "@parley/cli";
import type { Config } from "../config.ts";
import type { Secrets } from "../secrets.ts";

/**
 * Migrates every service's schema concurrently, each in a child process, and sets the roles' passwords. Returns the number of applied
 * migrations. Throws CliError with a failed process's error.
 */
export async function migrateAll(
  databaseUrl: string,
  secrets: Secrets,
  { rolePrefix, systemVariables }: Pick<Config, "rolePrefix" | "systemVariables">,
): Promise<number> {
  const rolePasswords: Record<MigratedService, string> = {
    conversation: secrets.conversationPassword,
    quota: secrets.quotaPassword,
    "llm-proxy": secrets.llmPassword,
  };
  const migrationVariables = { DATABASE_ROLE_PREFIX: rolePrefix };
  const migrations = await Promise.all(
    MIGRATED_SERVICES.map((service) =>
      migrateService(service, {
        databaseUrl,
        rolePassword: rolePasswords[service],
        migrationVariables,
        systemVariables,
      }),
    ),
  );
  return migrations.flatMap(({ applied }) => applied).length;
}
