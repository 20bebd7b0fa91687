import { MIGRATED_SERVICES, type MigratedService, migrateService } from "@parley/cli";
import type { Secrets } from "./secrets.ts";

/**
 * Brings every schema to this version, each service's in a process of its own, side by side, and gives its role its
 * password. Returns how many migrations were applied. Throws CliError with what a process said.
 */
export async function migrateAll(
  databaseUrl: string,
  secrets: Secrets,
  machine: Readonly<Record<string, string>>,
): Promise<number> {
  const rolePasswords: Record<MigratedService, string> = {
    conversation: secrets.conversationPassword,
    quota: secrets.quotaPassword,
    "llm-proxy": secrets.llmPassword,
  };
  const migrations = await Promise.all(
    MIGRATED_SERVICES.map((service) =>
      migrateService(service, { databaseUrl, rolePassword: rolePasswords[service], machine }),
    ),
  );
  return migrations.flatMap(({ applied }) => applied).length;
}
