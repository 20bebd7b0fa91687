import type { QueuedSettlement } from "../turns/index.ts";
import { Settler, type SettlerOptions } from "./settler.worker.ts";

export type SettlersOptions = Omit<SettlerOptions, "isOnlyShard" | "database" | "quota" | "lag"> & {
  /** The database of each shard, the client of the quota service for the shard's workspaces, and their lag; by the shard's number. */
  shards: readonly Pick<SettlerOptions, "database" | "quota" | "lag">[];
};

/** The settlers of all shards. A shard or its quota calls that fail do not delay the settlements of the other shards. */
export class Settlers {
  readonly #settlers: readonly Settler[];

  constructor({ shards, ...options }: SettlersOptions) {
    this.#settlers = shards.map((shard) => new Settler({ ...options, ...shard, isOnlyShard: shards.length === 1 }));
  }

  start(): void {
    for (const settler of this.#settlers) settler.start();
  }

  /** Queues closed turns for the next batch of their shard. Their outbox rows must be committed. */
  push(closed: readonly QueuedSettlement[]): void {
    for (const [shard, turns] of Map.groupBy(closed, (turn) => turn.shard)) this.#settlers[shard]?.push(turns);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#settlers.map((settler) => settler.stop()));
  }
}
