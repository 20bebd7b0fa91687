import { setTimeout as sleep } from "node:timers/promises";
import { createDatabase, startTcpProxy, type TcpProxy } from "@parley/test-support";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createLogger } from "../process/logger.ts";
import { type Database, openDatabase } from "./database.ts";
import type { Migration } from "./migrate-options.ts";
import { createReadinessProbe } from "./readiness.ts";

const log = createLogger("test", "silent");
const migration = (name: string): Migration => ({ name, up: async () => undefined, down: async () => undefined });
const required = { schema: "service", migrations: [migration("0001_first"), migration("0002_second")] };

let database: Database;
let proxy: TcpProxy;
let dropDatabase: () => Promise<void>;
beforeEach(async () => {
  const created = await createDatabase();
  dropDatabase = created.drop;
  const { hostname, port } = new URL(created.url);
  proxy = await startTcpProxy({ targetHost: hostname, targetPort: Number(port) });
  const url = new URL(created.url);
  url.hostname = "127.0.0.1";
  url.port = String(proxy.port);
  database = openDatabase({ url: url.href, applicationName: "test", maxConnections: 2 }, log);
  await database.query("CREATE SCHEMA service");
  await database.query("CREATE TABLE service.migrations (name text)");
  await database.query("INSERT INTO service.migrations VALUES ('0001_first')");
});
afterEach(async () => {
  await database.end();
  await proxy.close();
  await dropDatabase();
});

test("a service is not ready until the newest migration that it knows is applied", async () => {
  const isReady = createReadinessProbe([{ number: 0, database }], required, log);
  expect(await isReady()).toBe(false);
  await database.query("INSERT INTO service.migrations VALUES ('0002_second'), ('0003_newer')");
  await expect.poll(isReady, { timeout: 5_000 }).toBe(true);
});

test("a service is not ready at start while the database is unavailable", async () => {
  await database.query("INSERT INTO service.migrations VALUES ('0002_second')");
  await proxy.drop();
  const isReady = createReadinessProbe([{ number: 0, database }], required, log);
  expect(await isReady()).toBe(false);
  await proxy.resume();
  await expect.poll(isReady, { timeout: 5_000 }).toBe(true);
});

test("a service stays ready when the database becomes unavailable", async () => {
  await database.query("INSERT INTO service.migrations VALUES ('0002_second')");
  const isReady = createReadinessProbe([{ number: 0, database }], required, log);
  expect(await isReady()).toBe(true);
  await proxy.drop();
  const deadline = performance.now() + 2_500;
  while (performance.now() < deadline) {
    expect(await isReady()).toBe(true);
    await sleep(100);
  }
});

test("with two shards, a service is ready if one is away, but not if one lacks the newest migration or is another shard", async () => {
  await database.query("INSERT INTO service.migrations VALUES ('0002_second')");
  const away = openDatabase({ url: "postgres://127.0.0.1:1/away", applicationName: "test", maxConnections: 1 }, log);
  const shardThatReturns = (row: object) => ({ query: async () => ({ rows: [row] }) }) as unknown as Database;
  const isReadyBeside = (other: Database) =>
    createReadinessProbe(
      [
        { number: 0, database },
        { number: 1, database: other },
      ],
      required,
      log,
    )();
  expect(await isReadyBeside(away)).toBe(true);
  expect(await isReadyBeside(shardThatReturns({ shard: 1, isMigrated: true }))).toBe(true);
  expect(await isReadyBeside(shardThatReturns({ shard: 1, isMigrated: false }))).toBe(false);
  expect(await isReadyBeside(shardThatReturns({ shard: 0, isMigrated: true }))).toBe(false);
  await away.end();
});
