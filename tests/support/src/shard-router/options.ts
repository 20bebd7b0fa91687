import type { Refusal } from "./session.ts";

export interface ShardRouterOptions {
  /** A URL of each shard's database. Clients log in with their own roles and passwords. */
  shardUrls: readonly string[];
  /** By default a free one. */
  port?: number;
  /** Connections to each shard for each role. */
  poolSize?: number;
  /** Whether a statement without a key is refused, as with `cross_shard_disabled`; true by default. Otherwise the first shard runs it. */
  isStrict?: boolean;
  /** A pgdog.toml with these shards. RELOAD in the database `admin`, which then exists, reads the shards' databases from it again. */
  configFile?: string;
  /** A users.toml, which the stand-in does not need. */
  usersFile?: string;
}

export interface ShardRouter {
  port: number;
  /** Returns the URL of the sharded database, or of the alias of one shard, for the role and password of `url`. */
  through(url: string, shard?: number): string;
  /** Returns the number of the shard that has the rows of a workspace. */
  shardOf(workspaceId: string): number;
  /** The statements that were refused because they lack a key. */
  refusals: readonly Refusal[];
  /** Closes all connections and refuses new ones. */
  stop(): Promise<void>;
}
