import { randomBytes } from "node:crypto";
import { Client } from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { createLogger } from "../process/logger.ts";
import { openDatabase } from "./database.ts";
import { logMissingRoleTimeouts } from "./service-role.ts";

const silent = createLogger("test", "silent");

test("logMissingRoleTimeouts logs each missing timeout with the statement to run", async () => {
  const role = `parley_test_${randomBytes(4).toString("hex")}`;
  const admin = new Client({ connectionString: inject("postgresUrl") });
  await admin.connect();
  onTestFinished(async () => {
    await admin.query(`DROP ROLE ${role}`);
    await admin.end();
  });
  await admin.query(`CREATE ROLE ${role} LOGIN PASSWORD 'test'; ALTER ROLE ${role} SET statement_timeout = '3s'`);
  const idle = "idle_in_transaction_session_timeout";
  expect(await loggedErrors(role)).toEqual([
    [{ role, setting: idle, run: `ALTER ROLE "${role}" SET ${idle} = '15s';` }, "role timeout missing"],
  ]);
  await admin.query(`ALTER ROLE ${role} SET ${idle} = '3s'`);
  expect(await loggedErrors(role)).toEqual([]);
});

test("logMissingRoleTimeouts does not throw when the database is unavailable", async () => {
  const database = openDatabase(
    { url: "postgres://nobody@127.0.0.1:1/none", applicationName: "test", maxConnections: 1 },
    silent,
  );
  await logMissingRoleTimeouts(database, silent);
  await database.end();
});

/** Returns what logMissingRoleTimeouts logs as errors if it connects as the role. */
async function loggedErrors(role: string): Promise<unknown[]> {
  const url = new URL(inject("postgresUrl"));
  [url.username, url.password] = [role, "test"];
  const database = openDatabase({ url: url.href, applicationName: "test", maxConnections: 1 }, silent);
  const lines: unknown[] = [];
  const log = createLogger("test", "silent");
  log.error = (...line: unknown[]) => void lines.push(line);
  await logMissingRoleTimeouts(database, log);
  await database.end();
  return lines;
}
