import type { Database } from "@parley/service-kit";
import { createServiceDatabase, type ServiceDatabase, type ServiceDatabaseOptions } from "@parley/service-kit/testing";
import { migrations } from "../../migrations/index.ts";
import { APPEND_ONLY_TABLES } from "../role.ts";

export const ROLE = "parley_conversation";
export const ROLE_PASSWORD = "conversation-test";

export type TestDatabase = ServiceDatabase;

/** Creates a database with the migrated conversation schema. */
export function createTestDatabase(options?: ServiceDatabaseOptions): Promise<TestDatabase> {
  const target = {
    schema: "conversation",
    role: ROLE,
    rolePassword: ROLE_PASSWORD,
    appendOnlyTables: APPEND_ONLY_TABLES,
    migrations,
  };
  return createServiceDatabase(target, options);
}

/** Returns the number of connections to the database that wait for a lock. */
export async function countLockWaits(admin: Database): Promise<number> {
  const { rows } = await admin.query(
    "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
  );
  return rows.length;
}
