import { createDatabase } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLogger } from "../process/logger.ts";
import { AWAY } from "../testing/shards.ts";
import { type Database, openDatabase } from "./database.ts";
import { listFromShards, onEachShard, readFromAnyShard, shardOfCall } from "./shard-lists.ts";

type Row = { id: string; used: number };

const ROWS: readonly Row[][] = [
  [
    { id: "a", used: 1 },
    { id: "C", used: 2 },
  ],
  [
    { id: "B", used: 2 },
    { id: "d", used: 0 },
  ],
];

let databases: Database[];
let drops: (() => Promise<void>)[];
beforeAll(async () => {
  const created = await Promise.all([createDatabase(), createDatabase()]);
  const log = createLogger("test", "silent");
  databases = created.map(({ url }) => openDatabase({ url, applicationName: "test", maxConnections: 2 }, log));
  drops = created.map(({ drop }) => drop);
});
afterAll(async () => {
  await Promise.all(databases.map((database) => database.end()));
  await Promise.all(drops.map((drop) => drop()));
});

const shardsOf = (...list: Database[]) => list.map((database, number) => ({ number, database }));
const read = (database: Database) => Promise.resolve(ROWS[databases.indexOf(database)] ?? []);
const idsOf = (rows: readonly Row[]) => rows.map(({ id }) => id).join("");

test("lists the rows of all shards in the databases' order of texts, and of numbers", async () => {
  const shards = shardsOf(...databases);
  // By code units, B and C would precede a.
  expect(idsOf(await listFromShards(shards, read, { keysOf: ({ id }) => [id] }))).toBe("aBCd");
  expect(idsOf(await listFromShards(shards, read, { keysOf: ({ id, used }) => [-used, id], limit: 3 }))).toBe("BCa");
});

test("returns the rows of one shard as they are, and sends no other statement", async () => {
  const rows = [{ id: "b" }, { id: "a" }];
  expect(await listFromShards(shardsOf(AWAY), async () => rows, { keysOf: ({ id }) => [id] })).toBe(rows);
});

test("a list fails if a shard is away, and readFromAnyShard fails only if all are", async () => {
  const [first] = databases;
  if (first === undefined) throw new Error("no database");
  const readOne = async (database: Database) => (await database.query<{ one: number }>("SELECT 1 AS one")).rows[0]?.one;
  await expect(onEachShard(shardsOf(AWAY, first), readOne)).rejects.toThrow("away");
  expect(await readFromAnyShard(shardsOf(AWAY, first), readOne)).toBe(1);
  await expect(readFromAnyShard(shardsOf(AWAY, AWAY), readOne)).rejects.toThrow("away");
});

test("refuses a shard that does not exist", () => {
  expect(shardOfCall(["only"], 0)).toBe("only");
  expect(() => shardOfCall(["only"], 1)).toThrow("shard must be at most 0");
});
