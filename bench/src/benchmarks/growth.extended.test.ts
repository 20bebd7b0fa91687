import { queryRows, startTestPostgres } from "@parley/test-support";
import { expect, onTestFinished, test, vi } from "vitest";
import { growth } from "./growth.ts";

test("growth drops a testbed's database when storing turns fails", async () => {
  const server = await startTestPostgres();
  onTestFinished(() => server.stop());
  vi.stubEnv("PARLEY_TEST_DATABASE_URL", server.url);
  onTestFinished(() => void vi.unstubAllEnvs());
  const listDatabases = () => queryRows(server.url, "SELECT datname FROM pg_database ORDER BY 1");
  const databases = await listDatabases();
  // An infinite scale asks for more turns than can be stored.
  await expect(growth.run({ rounds: 1, scale: Number.POSITIVE_INFINITY }, () => undefined)).rejects.toThrow(RangeError);
  expect(await listDatabases()).toEqual(databases);
});
