import type { TestDatabase } from "@parley/test-support";
import pg from "pg";
import { onTestFinished } from "vitest";

/**
 * Runs SQL in a transaction, which keeps its locks until the returned function is called, or at the latest until the test ends. Does not work in
 * concurrent tests.
 */
export async function holdLocks(
  { url }: Pick<TestDatabase, "url">,
  sql: string,
  values?: unknown[],
): Promise<() => Promise<void>> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  onTestFinished(() => client.end());
  await client.query("BEGIN");
  await client.query(sql, values);
  return async () => {
    await client.query("ROLLBACK");
  };
}
