import { createDatabase } from "@parley/test-support";
import { type Database, openDatabase } from "../database.ts";
import { createLogger } from "../logger.ts";
import { type MigrateOptions, migrate } from "../migrate.ts";

export type ServiceDatabase = {
  /** Connected as the service's own role. */
  database: Database;
  /** Connected as a superuser. */
  admin: Database;
  url: string;
  adminUrl: string;
  drop(): Promise<void>;
};

/** Creates a new database with one service's migrated schema. */
export async function createServiceDatabase(
  target: Omit<MigrateOptions, "url"> & { rolePassword: string },
): Promise<ServiceDatabase> {
  const { url: adminUrl, drop } = await createDatabase();
  await migrate({ ...target, url: adminUrl });
  const own = new URL(adminUrl);
  own.username = target.role;
  own.password = target.rolePassword;
  const log = createLogger("test", "silent");
  const options = { applicationName: "test" };
  const database = openDatabase({ ...options, url: own.href, maxConnections: 30 }, log);
  const admin = openDatabase({ ...options, url: adminUrl, maxConnections: 5, queryTimeoutMs: 0 }, log);
  return {
    database,
    admin,
    url: own.href,
    adminUrl,
    drop: async () => {
      await Promise.all([database.end(), admin.end()]);
      await drop();
    },
  };
}
