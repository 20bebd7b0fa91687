import type { Database } from "../database/database.ts";
import type { Shard, ShardedDatabase } from "../database/shards.ts";

type Statement = string | { values?: unknown[] };

/**
 * Makes shards of databases. A stand-in for the router sends each statement to the shard that `numberOf` returns for the statement's first value, the
 * workspace id. Knows no transactions.
 */
export function routeByWorkspace(
  databases: readonly Database[],
  numberOf: (workspaceId: string) => number,
): ShardedDatabase {
  const shards: Shard[] = databases.map((database, number) => ({ number, database }));
  const query = async (statement: Statement, values?: unknown[]) => {
    const [workspaceId] = values ?? (typeof statement === "string" ? [] : (statement.values ?? []));
    const shard = typeof workspaceId === "string" ? shards[numberOf(workspaceId)] : undefined;
    if (shard === undefined) throw new Error("the statement has no workspace id");
    return shard.database.query(statement as string, values);
  };
  return { database: { query } as unknown as Database, shards };
}

/** A database that does not respond. */
export const AWAY = {
  query: () => Promise.reject(new Error("the shard is away")),
  connect: () => Promise.reject(new Error("the shard is away")),
} as unknown as Database;
