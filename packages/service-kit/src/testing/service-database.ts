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
  const open = (url: string, maxConnections: number) =>
    openDatabase({ url, applicationName: "test", maxConnections }, createLogger("test", "silent"));
  const [database, admin] = [open(own.href, 30), open(adminUrl, 5)];
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
