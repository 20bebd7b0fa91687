import { createLogger, type Database, migrate, openDatabase } from "@parley/service-kit";
import { createDatabase } from "@parley/testing";
import { migrations } from "../../migrations/index.ts";

export const ROLE = "parley_conversation";
export const ROLE_PASSWORD = "conversation-test";

export type TestDatabase = {
  /** As the service's own role. */
  database: Database;
  /** As a superuser, for what the service may not do. */
  admin: Database;
  url: string;
  adminUrl: string;
  drop(): Promise<void>;
};

/** A migrated conversation schema in a fresh database, for a test file. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const { url: adminUrl, drop } = await createDatabase();
  await migrate({ url: adminUrl, schema: "conversation", role: ROLE, rolePassword: ROLE_PASSWORD, migrations });
  const own = new URL(adminUrl);
  own.username = ROLE;
  own.password = ROLE_PASSWORD;
  const open = (url: string, maxConnections: number) =>
    openDatabase({ url, applicationName: "test", maxConnections }, createLogger("test", "silent"));
  const [database, admin] = [open(own.href, 20), open(adminUrl, 5)];
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
