import {
  createCachedMeasurement,
  Gauge,
  type Logger,
  listFromShards,
  type Registry,
  type Shard,
} from "@parley/service-kit";
import { listTopCosts } from "./top-costs.store.ts";

/** Bounds the number of series with the label `workspace`. */
const MAX_NAMED_WORKSPACES = 10;
/** Long, because the measurement reads a day's rows of the call log. */
const CACHE_MS = 5 * 60_000;

/** Registers a gauge of the workspaces with the highest cost. Every replica reports the same values, so queries must not sum over replicas. */
export function registerCostGauge(registry: Registry, shards: readonly Shard[], log: Logger): void {
  const read = createCachedMeasurement(
    () =>
      listFromShards(shards, (database) => listTopCosts(database, MAX_NAMED_WORKSPACES), {
        keysOf: ({ cost, workspaceId }) => [-cost, workspaceId],
        limit: MAX_NAMED_WORKSPACES,
      }),
    { name: "workspace cost", cacheMs: CACHE_MS },
    log,
  );
  new Gauge({
    name: "parley_llm_workspace_day_cost",
    help: `Cost of a workspace's generations of the last 24 hours, in the currency of the prices. Reports only the ${MAX_NAMED_WORKSPACES} workspaces with the highest cost. Up to 5 minutes old.`,
    labelNames: ["workspace"],
    registers: [registry],
    async collect() {
      const costs = await read();
      this.reset();
      for (const { workspaceId, cost } of costs ?? []) this.set({ workspace: workspaceId }, cost);
    },
  });
}
