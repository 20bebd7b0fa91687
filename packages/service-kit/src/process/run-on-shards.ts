import type { Shard } from "../database/shards.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { Logger } from "./logger.ts";
import { type PeriodicTask, runPeriodically } from "./periodic.ts";

export type ShardTask = Omit<PeriodicTask, "run"> & { run: (shard: Shard, signal: AbortSignal) => Promise<unknown> };

/** Runs a task of its own for each shard, so that a shard that is away stops only its own work. */
export function runOnShards(
  shards: readonly Shard[],
  { name, intervalMs, run }: ShardTask,
  log: Pick<Logger, "warn">,
  lifecycle: Pick<Lifecycle, "onClose" | "closingSignal">,
): void {
  for (const shard of shards) {
    const task = {
      name: shards.length === 1 ? name : `${name}, shard ${shard.number}`,
      intervalMs,
      run: (signal: AbortSignal) => run(shard, signal),
    };
    runPeriodically(task, log, lifecycle);
  }
}
