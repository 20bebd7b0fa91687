import { createLogger, type Database, openDatabase } from "@parley/service-kit";
import { migrate } from "@parley/service-kit/migrations";
import { startPgvectorServer } from "@parley/test-support";
import { migrations } from "../../migrations/index.ts";
import { ROLE, ROLE_PASSWORD } from "./database.ts";

export type VectorDatabase = {
  /** A pool of one connection, with the service's role. */
  database: Database;
  runAsSuperuser(sql: string): Promise<void>;
  stop(): Promise<void>;
};

/** Creates the migrated conversation schema on a server that offers pgvector. The extension is not created in the database. */
export async function startVectorDatabase(): Promise<VectorDatabase> {
  const { url, stop } = await startPgvectorServer();
  await migrate({ url, schema: "conversation", role: ROLE, rolePassword: ROLE_PASSWORD, migrations });
  const database = openDatabase({ url, applicationName: "test", maxConnections: 1 }, createLogger("test", "silent"));
  await database.query(`SET ROLE ${ROLE}`);
  return {
    database,
    async runAsSuperuser(sql) {
      await database.query("RESET ROLE");
      await database.query(sql);
      await database.query(`SET ROLE ${ROLE}`);
    },
    async stop() {
      await database.end();
      await stop();
    },
  };
}
