import { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { createDatabase, startTcpProxy } from "@parley/test-support";
import { afterAll, afterEach, expect, test, vi } from "vitest";
import { toRpcError } from "../grpc/call-errors.ts";
import { createLogger } from "../process/logger.ts";
import { type Database, openDatabase, readWithRetry, sqlState, transaction, withQueryTimeout } from "./database.ts";

const POOL_SIZE = 4;

const closers: (() => Promise<void>)[] = [];
afterAll(async () => {
  await Promise.all(closers.map((close) => close()));
});

/** Opens a pool to a new database through a TCP proxy. */
async function openProxiedPool() {
  const { name, url, drop } = await createDatabase();
  const target = new URL(url);
  const proxy = await startTcpProxy({ targetHost: target.hostname, targetPort: Number(target.port) });
  target.hostname = "127.0.0.1";
  target.port = String(proxy.port);
  const options = { applicationName: "test", maxConnections: POOL_SIZE };
  const log = createLogger("test", "silent");
  const pool = openDatabase({ ...options, url: target.href }, log);
  const admin = openDatabase({ ...options, url }, log);
  closers.push(async () => {
    await proxy.close();
    await Promise.all([pool.end(), admin.end()]);
    await drop();
  });
  return { name, pool, proxy, admin };
}

/** Opens all connections of a pool and leaves them idle. */
async function fill(pool: Database): Promise<void> {
  const connections = await Promise.all(Array.from({ length: POOL_SIZE }, () => pool.connect()));
  for (const connection of connections) connection.release();
}

test("when the process stops, a pool closes idle connections within 1 s, and a used connection within 5 s after its release", async () => {
  const { url, drop } = await createDatabase();
  const stopping = new AbortController();
  const options = { url, applicationName: "test", maxConnections: POOL_SIZE, closingSignal: stopping.signal };
  const pool = openDatabase(options, createLogger("test", "silent"));
  await fill(pool);
  const used = await pool.connect();
  stopping.abort();
  await expect.poll(() => pool.totalCount, { timeout: 1_000 }).toBe(1);
  // Calls that are still running can use the database.
  expect((await pool.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  used.release();
  await expect.poll(() => pool.totalCount, { timeout: 5_000 }).toBe(0);
  await pool.end();
  await drop();
});

const kindsOfWork: [string, (pool: Database) => Promise<unknown>][] = [
  ["statement", (pool) => pool.query("SELECT 1")],
  ["transaction", (pool) => transaction(pool, (connection) => connection.query("SELECT 1"))],
];

/** How soon work must succeed after a failure of the network or the server. */
const RECOVERY_LIMIT_MS = 30_000;
const STALL_MS = 25_000;

/** Returns the failures before the success, and the total time. */
async function retryUntilSuccess(work: () => Promise<unknown>, limitMs = RECOVERY_LIMIT_MS) {
  const startedAt = performance.now();
  const failures: unknown[] = [];
  for (;;) {
    try {
      await work();
      return { failures, ms: performance.now() - startedAt };
    } catch (error) {
      failures.push(error);
      if (performance.now() - startedAt > limitMs) throw error;
    }
  }
}

const codesOf = (failures: unknown[]) => failures.map((error) => toRpcError(error).code);

test.concurrent.each(kindsOfWork)(
  "a retried %s succeeds within 30 s after the server dropped all connections without a reset",
  async (_, work) => {
    const { pool, proxy } = await openProxiedPool();
    await fill(pool);
    proxy.stallOpenConnections();
    const { failures, ms } = await retryUntilSuccess(() => work(pool));
    expect(codesOf(failures)).toEqual(["unavailable"]);
    expect(ms).toBeLessThan(RECOVERY_LIMIT_MS);
  },
  2 * RECOVERY_LIMIT_MS,
);

test.concurrent(
  "transactions succeed within 30 s after their connections were dropped without a reset while in use",
  async () => {
    const { pool, proxy } = await openProxiedPool();
    const work = () => transaction(pool, (connection) => connection.query("SELECT pg_sleep(0.1)"));
    await fill(pool);
    const runs = Array.from({ length: 3 * POOL_SIZE }, () => retryUntilSuccess(work));
    await sleep(50);
    proxy.stallOpenConnections();
    const results = await Promise.all(runs);
    expect(new Set(results.flatMap(({ failures }) => codesOf(failures)))).toEqual(new Set(["unavailable"]));
    for (const { ms } of results) {
      expect(ms).toBeLessThan(RECOVERY_LIMIT_MS);
    }
    expect(pool.totalCount).toBeLessThanOrEqual(POOL_SIZE);
  },
  2 * RECOVERY_LIMIT_MS,
);

test.concurrent(
  "statements succeed within 30 s after a stall of 25 s",
  async () => {
    const { pool, proxy } = await openProxiedPool();
    await fill(pool);
    proxy.stall();
    const work = () => retryUntilSuccess(() => pool.query("SELECT 1"), STALL_MS + RECOVERY_LIMIT_MS);
    const stalled = Array.from({ length: 2 * POOL_SIZE }, work);
    await sleep(STALL_MS);
    await proxy.resume();
    const resumedAt = performance.now();
    for (const { failures } of await Promise.all(stalled)) {
      expect(new Set(codesOf(failures))).toEqual(new Set(["unavailable"]));
    }
    expect(performance.now() - resumedAt).toBeLessThan(RECOVERY_LIMIT_MS);
  },
  2 * RECOVERY_LIMIT_MS,
);

test.concurrent(
  "a statement with its own query timeout may take longer than the pool's query timeout",
  async () => {
    const { pool } = await openProxiedPool();
    const { rows } = await pool.query(
      withQueryTimeout("SELECT pg_sleep($1::float8), 1 AS one", [12.5], RECOVERY_LIMIT_MS),
    );
    expect(rows).toMatchObject([{ one: 1 }]);
  },
  2 * RECOVERY_LIMIT_MS,
);

test("after a transaction fails on a read-only server, the pool replaces all its connections", async () => {
  const { name, pool, admin } = await openProxiedPool();
  await admin.query("CREATE TABLE entries (id int)");
  // The setting applies to new connections only, so the pool's connections stay read-only after its removal.
  await admin.query(`ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  await fill(pool);
  await admin.query(`ALTER DATABASE ${name} RESET default_transaction_read_only`);
  const { failures } = await retryUntilSuccess(() =>
    transaction(pool, (connection) => connection.query("INSERT INTO entries VALUES (1)")),
  );
  expect(failures.map(sqlState)).toEqual(["25006"]);
  expect(codesOf(failures)).toEqual(["unavailable"]);
});

test("readWithRetry retries a read whose connection the server closed, and no other failed read", async () => {
  const { pool } = await openProxiedPool();
  let attempts = 0;
  const read = (failing: string) =>
    readWithRetry(() => {
      attempts++;
      return pool.query(attempts < 3 ? failing : "SELECT 1 AS one");
    });
  await expect(read("SELECT pg_terminate_backend(pg_backend_pid())")).resolves.toMatchObject({ rows: [{ one: 1 }] });
  expect(attempts).toBe(3);
  attempts = 0;
  await expect(read("SELECT 1 / 0")).rejects.toMatchObject({ code: "22012" });
  expect(attempts).toBe(1);
});

test("a read over an idle connection that the server has just closed succeeds", async () => {
  const { pool, admin } = await openProxiedPool();
  await fill(pool);
  await admin.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()",
  );
  await expect(readWithRetry(() => pool.query("SELECT 1 AS one"))).resolves.toMatchObject({ rows: [{ one: 1 }] });
});

test("a connection has TCP keepalive with a first probe after 10 s", async () => {
  const setKeepAlive = vi.spyOn(Socket.prototype, "setKeepAlive");
  const { pool } = await openProxiedPool();
  await pool.query("SELECT 1");
  expect(setKeepAlive).toHaveBeenCalledWith(true, 10_000);
});

test("a pool replaces a connection after 10 minutes, even if it is never idle for long", async () => {
  const { pool } = await openProxiedPool();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const pidAfter = async (ms: number) => {
    await vi.advanceTimersByTimeAsync(ms);
    const { rows } = await pool.query<{ pid: number }>("SELECT pg_backend_pid() AS pid");
    return rows[0]?.pid;
  };
  const first = await pidAfter(0);
  const pids: unknown[] = [];
  for (let minute = 0; minute < 10; minute += 0.5) pids.push(await pidAfter(30_000));
  // pids[18] was read after 9.5 minutes, and pids[19] after 10.
  expect(pids.indexOf(first)).toBe(0);
  expect(pids.lastIndexOf(first)).toBe(18);
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});
