import { IDS_PER_SHARD, SHARD_CONNECTIONS } from "@parley/service-kit/migrations";
import type { Result } from "../output/result.ts";
import { formatCount, formatTable } from "../output/table.ts";

export type PlannedShard = { shard: number; database: string; server: string; exists: boolean };

/** The sizes of the router's pools, each for one role and one database. */
export type PoolSizes = { routers: number; poolSize: number; aliasPoolSize: number };

/** Each of the three services has a role of its own. */
const SERVICE_ROLES = 3;
/** The migrations run on eight shards at once, with up to three connections for each. */
const MIGRATION_CONNECTIONS = 24;

/** Places each shard that does not exist on the server with the fewest shards, the first of several. */
export function placeShards(
  { database, shardCount, servers }: { database: string; shardCount: number; servers: readonly string[] },
  existing: ReadonlyMap<number, string>,
): PlannedShard[] {
  const counts = new Map(servers.map((server) => [server, 0]));
  for (const server of existing.values()) counts.set(server, (counts.get(server) ?? 0) + 1);
  return Array.from({ length: shardCount }, (_, shard) => {
    const [emptiest] = servers.toSorted((a, b) => (counts.get(a) ?? 0) - (counts.get(b) ?? 0));
    const server = existing.get(shard) ?? emptiest ?? "";
    if (!existing.has(shard)) counts.set(server, (counts.get(server) ?? 0) + 1);
    return { shard, database: `${database}_${shard}`, server, exists: existing.has(shard) };
  });
}

/** The first id of a shard's sequences. */
export const firstIdOf = (shard: number): number => 1 + shard * IDS_PER_SHARD;

/** Returns the most connections that the routers and the migrations open to a server with this number of shards. */
export function connectionsOf(shards: number, { routers, poolSize, aliasPoolSize }: PoolSizes): number {
  return routers * shards * SERVICE_ROLES * (poolSize + aliasPoolSize) + MIGRATION_CONNECTIONS;
}

export function reportPlan(plan: readonly PlannedShard[], roles: readonly string[], pools: PoolSizes): Result {
  const shardsByServer = Map.groupBy(plan, ({ server }) => server);
  const servers = [...shardsByServer].map(([server, shards]) => ({
    server,
    shards: shards.length,
    connections: connectionsOf(shards.length, pools),
  }));
  const rows = plan.map(({ shard, database, server, exists }) => ({
    shard,
    database,
    server,
    setting: `parley.shard = '${shard}'`,
    first_id: firstIdOf(shard),
    state: exists ? "exists" : "new",
  }));
  const aliasConnections = SHARD_CONNECTIONS * plan.length;
  return {
    json: { shards: rows, servers, roles: [...roles], connections_per_replica_to_aliases: aliasConnections },
    text: [
      formatTable(
        ["shard", "database", "server", "setting", "first id", "state"],
        rows.map((row) => Object.values(row)),
        "No shards.",
      ),
      formatTable(
        ["server", "shards", "max. connections"],
        servers.map((row) => Object.values(row)),
        "No servers.",
      ),
      `Roles on each server: ${roles.join(", ")}\n` +
        `Each replica of a service opens up to ${formatCount(aliasConnections, "connection")} to the router's aliases, and those of its pool.\n`,
    ].join("\n"),
  };
}
