import { invalidArgument } from "../errors.ts";
import type { Database } from "./database.ts";
import type { Shard } from "./shards.ts";

/** Runs `work` on all shards at the same time. Throws if it fails on one of them, because a result without a shard would be wrong. */
export function onEachShard<T>(shards: readonly Shard[], work: (database: Database) => Promise<T>): Promise<T[]> {
  return Promise.all(shards.map(({ database }) => work(database)));
}

/** Reads what every shard has, such as the plans, from the first shard that responds. */
export async function readFromAnyShard<T>(
  shards: readonly Shard[],
  read: (database: Database) => Promise<T>,
): Promise<T> {
  let failure: unknown;
  for (const { database } of shards) {
    try {
      return await read(database);
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

export type ShardListOptions<T> = {
  /** The values by which the list is ordered, such as `[-row.used, row.workspaceId]`. The database orders the texts. */
  keysOf: (row: T) => readonly (number | string)[];
  /** The length of the list; by default all rows. */
  limit?: number;
};

/**
 * Lists rows of all shards in one order. `read` returns the first rows of one shard in this order, at most `limit`. If it reads only the rows after
 * a position, the position of the list's last row leads to the next page of every shard.
 */
export async function listFromShards<T>(
  shards: readonly Shard[],
  read: (database: Database) => Promise<T[]>,
  { keysOf, limit }: ShardListOptions<T>,
): Promise<T[]> {
  const lists = await onEachShard(shards, read);
  const [onlyList] = lists;
  if (onlyList !== undefined && lists.length === 1) return onlyList;
  const rows = lists.flat().map((row) => ({ row, keys: keysOf(row) }));
  const texts = new Set(rows.flatMap(({ keys }) => keys.filter((key) => typeof key === "string")));
  const rankOf = await rankTexts(shards, [...texts]);
  const toNumbers = (keys: readonly (number | string)[]) =>
    keys.map((key) => (typeof key === "string" ? rankOf(key) : key));
  return rows
    .map(({ row, keys }) => ({ row, ranks: toNumbers(keys) }))
    .sort((a, b) => compareNumbers(a.ranks, b.ranks))
    .slice(0, limit)
    .map(({ row }) => row);
}

/** Returns a function that returns a text's place in the order of the databases, which depends on their collation. */
async function rankTexts(shards: readonly Shard[], texts: readonly string[]): Promise<(text: string) => number> {
  if (texts.length === 0) return () => 0;
  const { rows } = await readFromAnyShard(shards, (database) =>
    database.query<{ text: string }>("SELECT text FROM unnest($1::text[]) AS t (text) ORDER BY text", [texts]),
  );
  const ranks = new Map(rows.map(({ text }, index) => [text, index]));
  return (text) => ranks.get(text) ?? 0;
}

function compareNumbers(a: readonly number[], b: readonly number[]): number {
  for (const [index, number] of a.entries()) {
    const difference = number - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

/** Returns the shard that a call names. Throws invalid_argument if there is none. */
export function shardOfCall<T>(shards: readonly T[], number: number): T {
  const shard = shards[number];
  if (shard === undefined) throw invalidArgument(`shard must be at most ${shards.length - 1}`);
  return shard;
}
