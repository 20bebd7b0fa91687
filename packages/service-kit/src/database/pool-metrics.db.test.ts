import { createDatabase } from "@parley/test-support";
import { expect, onTestFinished, test } from "vitest";
import { Registry } from "../ops/metrics.ts";
import { createLogger } from "../process/logger.ts";
import { CallPool } from "./call-pool.ts";
import { openDatabase, transaction } from "./database.ts";
import { createPoolMetrics } from "./pool-metrics.ts";

test("reports used and idle connections, waiting callers, and how long connections were held", async () => {
  const { url, drop } = await createDatabase();
  const pool = openDatabase({ url, applicationName: "test", maxConnections: 2 }, createLogger("test", "silent"));
  onTestFinished(async () => {
    await pool.end();
    await drop();
  });
  const registry = new Registry();
  const calls = new CallPool(pool);
  createPoolMetrics(registry)("main", pool, calls);
  const readSeries = async (series: string) => {
    const line = (await registry.metrics()).split("\n").find((each) => each.startsWith(`${series} `));
    return Number(line?.split(" ").at(-1));
  };

  await pool.query("SELECT pg_sleep(0.03)");
  await transaction(pool, (connection) => connection.query("SELECT 1"));
  expect(await readSeries('parley_db_connection_use_seconds_count{pool="main"}')).toBe(2);
  expect(await readSeries('parley_db_connection_use_seconds_sum{pool="main"}')).toBeGreaterThanOrEqual(0.03);
  expect(await readSeries('parley_db_pool_max_connections{pool="main"}')).toBe(2);
  expect(await readSeries('parley_db_pool_connections{pool="main",state="idle"}')).toBe(1);

  const held = [await pool.connect(), await pool.connect()];
  const waiting = pool.query("SELECT 1");
  expect(await readSeries('parley_db_pool_connections{pool="main",state="used"}')).toBe(2);
  expect(await readSeries('parley_db_pool_waiting{pool="main"}')).toBe(1);
  const callDatabase = calls.databaseFor(new AbortController().signal);
  const callQueries = [callDatabase.query("SELECT 1"), callDatabase.query("SELECT 1")];
  // A CallPool uses at most 75 % of the connections: one of two. So one call waits in the pool's queue, after `waiting`, and one in the
  // CallPool's queue.
  await expect.poll(() => pool.waitingCount).toBe(2);
  expect(await readSeries('parley_db_pool_waiting{pool="main"}')).toBe(3);
  for (const connection of held) connection.release();
  await Promise.all([waiting, ...callQueries]);
  expect(await readSeries('parley_db_pool_waiting{pool="main"}')).toBe(0);
});
