import { createDatabase, freePort, queryRows } from "@parley/test-support";
import { expect, onTestFinished, test } from "vitest";
import { Registry } from "../ops/metrics.ts";
import { createLogger } from "../process/logger.ts";
import { CallPool } from "./call-pool.ts";
import { type Database, openDatabase } from "./database.ts";
import { createDatabaseErrorCounter } from "./error-metrics.ts";

function observe(url: string, options: { queryTimeoutMs?: number } = {}) {
  const database = openDatabase(
    { url, applicationName: "test", maxConnections: 2, ...options },
    createLogger("test", "silent"),
  );
  onTestFinished(() => database.end());
  const registry = new Registry();
  createDatabaseErrorCounter(registry)("main", database);
  const readErrors = async () => {
    const lines = [
      ...(await registry.metrics()).matchAll(/parley_db_errors_total\{pool="main",class="(\w+)"\} (\d+)/g),
    ];
    return Object.fromEntries(lines.flatMap(([, name, count]) => (count === "0" ? [] : [[name, Number(count)]])));
  };
  return { database, readErrors, registry };
}

async function openTestDatabase(options: { queryTimeoutMs?: number } = {}) {
  const { url, drop } = await createDatabase();
  onTestFinished(drop);
  return { url, ...observe(url, options) };
}

const fail = (work: Promise<unknown>) => expect(work).rejects.toThrow();

test("counts the errors of statements by the class of their SQLSTATE, and no successful ones", async () => {
  const { database, readErrors } = await openTestDatabase();
  await database.query("CREATE TABLE things (id integer PRIMARY KEY)");
  await database.query("INSERT INTO things VALUES (1)");
  expect(await readErrors()).toEqual({});
  await fail(database.query("INSERT INTO things VALUES (1)"));
  await fail(database.query({ name: "named", text: "SELECT 1 / $1", values: [0] }));
  const connection = await database.connect();
  await connection.query("BEGIN READ ONLY");
  await fail(connection.query("INSERT INTO things VALUES (2)"));
  await fail(connection.query("SELECT 1"));
  await connection.query("ROLLBACK");
  await connection.query("SET statement_timeout = 50");
  await fail(connection.query("SELECT pg_sleep(5)"));
  connection.release(true);
  const callDatabase = new CallPool(database).databaseFor(new AbortController().signal);
  await fail(callDatabase.query("SELECT nothing"));
  // 25006, and 25P02: the transaction has failed.
  expect(await readErrors()).toEqual({ 22: 1, 23: 1, 25: 2, 42: 1, 57014: 1 });
});

test("counts connections that fail: refused, or for a database or a role that does not exist", async () => {
  const { url } = await openTestDatabase();
  const refused = observe(`postgres://nobody@127.0.0.1:${await freePort()}/none`);
  await fail(refused.database.query("SELECT 1"));
  await fail(refused.database.connect());
  expect(await refused.readErrors()).toEqual({ connection: 2 });
  const missing = observe(Object.assign(new URL(url), { pathname: "/does_not_exist" }).href);
  await fail(missing.database.query("SELECT 1"));
  expect(await missing.readErrors()).toEqual({ "3D": 1 });
  const stranger = observe(Object.assign(new URL(url), { username: "stranger", password: "wrong" }).href);
  await fail(stranger.database.query("SELECT 1"));
  expect(await stranger.readErrors()).toEqual({ 28: 1 });
});

test("counts a connection that the server ends, in use or idle, and a response that is missing", async () => {
  const { url, database, readErrors } = await openTestDatabase({ queryTimeoutMs: 200 });
  const endAll = () =>
    queryRows(
      url,
      "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'test'",
    );
  const connection = await database.connect();
  const running = fail(connection.query({ text: "SELECT pg_sleep(10)", query_timeout: 0 } as never));
  await new Promise((resolve) => setTimeout(resolve, 100));
  await endAll();
  await running;
  connection.release(true);
  await database.query("SELECT 1");
  await endAll();
  // The connection in use also reports that it was lost.
  await expect.poll(readErrors).toEqual({ 57: 2, connection: 1 });
  await fail(database.query("SELECT pg_sleep(2)"));
  expect(await readErrors()).toEqual({ 57: 2, connection: 1, timeout: 1 });
});

test("counts nothing for a pool that has ended", async () => {
  const { url } = await openTestDatabase();
  const database: Database = openDatabase(
    { url, applicationName: "test", maxConnections: 1 },
    createLogger("test", "silent"),
  );
  const registry = new Registry();
  createDatabaseErrorCounter(registry)("main", database);
  await database.end();
  await fail(database.query("SELECT 1"));
  expect(await registry.metrics()).not.toMatch(/parley_db_errors_total\{.*\} [1-9]/);
});
