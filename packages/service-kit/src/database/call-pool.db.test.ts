import { expect, inject, onTestFinished, test } from "vitest";
import { createLogger } from "../process/logger.ts";
import { CallPool } from "./call-pool.ts";
import { openDatabase } from "./database.ts";

function openPool(maxConnections = 1) {
  const options = { url: inject("postgresUrl"), applicationName: "test", maxConnections };
  const database = openDatabase(options, createLogger("test", "silent"));
  onTestFinished(() => database.end());
  return { database, calls: new CallPool(database) };
}

test("a cancelled call gets no connection, and the pool keeps all of its connections", async () => {
  const { database, calls } = openPool();
  const held = await database.connect();
  const controller = new AbortController();
  const callDatabase = calls.databaseFor(controller.signal);
  const waiting = [callDatabase.query("SELECT 1"), callDatabase.connect()];
  controller.abort(new Error("left"));
  for (const each of waiting) await expect(each).rejects.toThrow("left");
  await expect(callDatabase.query("SELECT 1")).rejects.toThrow("left");
  held.release();
  expect((await database.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  expect([database.totalCount, database.idleCount, database.waitingCount]).toEqual([1, 1, 0]);
});

test("a cancelled call no longer counts as queued, and the calls behind it get their connections", async () => {
  const { calls } = openPool();
  const callDatabase = calls.databaseFor(new AbortController().signal);
  const held = await callDatabase.connect();
  const controller = new AbortController();
  const abandoned = calls.databaseFor(controller.signal).query("SELECT 1");
  const waiting = callDatabase.query("SELECT 1 AS one");
  expect(calls.queuedCount).toBe(2);
  controller.abort(new Error("left"));
  await expect(abandoned).rejects.toThrow("left");
  expect(calls.queuedCount).toBe(1);
  held.release();
  expect((await waiting).rows).toEqual([{ one: 1 }]);
  expect(calls.queuedCount).toBe(0);
  expect((await callDatabase.query("SELECT 2 AS two")).rows).toEqual([{ two: 2 }]);
});

test("a call gets the rows and errors of its queries, and a connection that returns to the pool after release", async () => {
  const { database, calls } = openPool();
  const callDatabase = calls.databaseFor(new AbortController().signal);
  expect((await callDatabase.query("SELECT $1::text AS text", ["a"])).rows).toEqual([{ text: "a" }]);
  await expect(callDatabase.query("SELECT 1 / 0")).rejects.toThrow("division by zero");
  const connection = await callDatabase.connect();
  expect((await connection.query("SELECT 2 AS two")).rows).toEqual([{ two: 2 }]);
  connection.release();
  expect([database.totalCount, database.idleCount]).toEqual([1, 1]);
});

test("calls get at most three quarters of the connections, in the order of their arrival, and other work can use the rest", async () => {
  const { database, calls } = openPool(4);
  const callDatabase = calls.databaseFor(new AbortController().signal);
  const held = await Promise.all([callDatabase.connect(), callDatabase.connect(), callDatabase.connect()]);
  const leavingCaller = new AbortController();
  const abandoned = calls.databaseFor(leavingCaller.signal).query("SELECT 1");
  const order: number[] = [];
  const waiting = [1, 2, 3].map((n) => callDatabase.query("SELECT 1").then(() => order.push(n)));
  expect((await database.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  leavingCaller.abort(new Error("left"));
  await expect(abandoned).rejects.toThrow("left");
  expect(order).toEqual([]);
  held[0]?.release();
  await Promise.all(waiting);
  expect(order).toEqual([1, 2, 3]);
  for (const connection of held.slice(1)) connection.release();
  await expect(callDatabase.query("SELECT 1 / 0")).rejects.toThrow("division by zero");
  const again = await Promise.all([callDatabase.connect(), callDatabase.connect(), callDatabase.connect()]);
  expect([database.totalCount - database.idleCount, database.waitingCount]).toEqual([3, 0]);
  for (const connection of again) connection.release();
});
