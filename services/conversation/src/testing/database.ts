import { createServiceDatabase, type ServiceDatabase } from "@parley/service-kit/testing";
import { migrations } from "../../migrations/index.ts";

export const ROLE = "parley_conversation";
export const ROLE_PASSWORD = "conversation-test";

export type TestDatabase = ServiceDatabase;

/** A migrated conversation schema in a fresh database, for a test file. */
export function createTestDatabase(): Promise<TestDatabase> {
  return createServiceDatabase({ schema: "conversation", role: ROLE, rolePassword: ROLE_PASSWORD, migrations });
}
