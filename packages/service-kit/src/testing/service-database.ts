import { createDatabase, queryRows } from "@parley/test-support";
import { type Database, openDatabase } from "../database/database.ts";
import { migrate } from "../database/migrate.ts";
import type { MigrateOptions } from "../database/migrate-options.ts";
import { createLogger } from "../process/logger.ts";

export type ServiceDatabase = {
  /** Connected as the service's own role. */
  database: Database;
  /** Connected as a superuser. */
  admin: Database;
  url: string;
  adminUrl: string;
  drop(): Promise<void>;
};

type Target = Omit<MigrateOptions, "url"> & { rolePassword: string };

/** For each schema, the name of a migrated database that createServiceDatabase copies. A test worker migrates this database only once. */
const templates = new Map<string, Promise<string>>();

export type ServiceDatabaseOptions = {
  /** By default a random name. */
  name?: string;
  /** The number of the database as a logical shard. */
  shard?: number;
};

/** Creates a database with one service's migrated schema. */
export async function createServiceDatabase(
  target: Target,
  { name: requestedName, shard }: ServiceDatabaseOptions = {},
): Promise<ServiceDatabase> {
  const template = templates.get(target.schema) ?? createTemplate(target);
  templates.set(target.schema, template);
  const { name, url: adminUrl, drop } = await createDatabase(requestedName, { template: await template });
  if (shard !== undefined) await queryRows(adminUrl, `ALTER DATABASE ${name} SET parley.shard = ${shard}`);
  const roleUrl = new URL(adminUrl);
  roleUrl.username = target.role;
  roleUrl.password = target.rolePassword;
  const log = createLogger("test", "silent");
  const options = { applicationName: "test" };
  const database = openDatabase({ ...options, url: roleUrl.href, maxConnections: 30 }, log);
  const admin = openDatabase({ ...options, url: adminUrl, maxConnections: 5, queryTimeoutMs: 0 }, log);
  return {
    database,
    admin,
    url: roleUrl.href,
    adminUrl,
    drop: async () => {
      await Promise.all([database.end(), admin.end()]);
      await drop();
    },
  };
}

async function createTemplate(target: Target): Promise<string> {
  const { name, url } = await createDatabase();
  await migrate({ ...target, url });
  return name;
}
