import { Gauge, type Registry } from "prom-client";
import type { Shard } from "../database/shards.ts";
import type { Logger } from "../process/logger.ts";
import { createCachedMeasurement } from "./measurement.ts";

type Gauges<K extends string> = Readonly<Record<K, { name: string; help: string }>>;
type Measure<K extends string> = () => Promise<Readonly<Record<K, number>>>;

/**
 * Registers a gauge for each value that `measure` returns. A scrape calls `measure` once for all of them, or uses a cached result (see
 * MeasurementOptions). Without a result, for example because `measure` fails or takes too long, the gauges are NaN.
 */
export function registerMeasuredGauges<K extends string>(
  registry: Registry,
  gauges: Gauges<K>,
  measure: Measure<K>,
  log: Logger,
  cacheMs = 0,
): void {
  registerGauges(registry, gauges, [{ labels: {}, measure }], log, cacheMs);
}

/** Like registerMeasuredGauges, but measures each shard on its own. If there is more than one, the label `shard` has the shard's number. */
export function registerShardGauges<K extends string>(
  registry: Registry,
  gauges: Gauges<K>,
  shards: readonly Shard[],
  measure: (shard: Shard) => ReturnType<Measure<K>>,
  log: Logger,
  cacheMs = 0,
): void {
  const series = shards.map((shard) => ({
    labels: shardLabels(shards, shard.number),
    measure: () => measure(shard),
  }));
  registerGauges(registry, gauges, series, log, cacheMs);
}

/** Returns the names of the labels that shardLabels sets. */
export function shardLabelNames(shards: readonly unknown[]): "shard"[] {
  return shards.length > 1 ? ["shard"] : [];
}

/** Returns the label of a series of one shard. If there is only one shard, the series has no label. */
export function shardLabels(shards: readonly unknown[], number: number): { shard?: string } {
  return shards.length > 1 ? { shard: String(number) } : {};
}

function registerGauges<K extends string>(
  registry: Registry,
  gauges: Gauges<K>,
  series: readonly { labels: { shard?: string }; measure: Measure<K> }[],
  log: Logger,
  cacheMs: number,
): void {
  const entries = Object.entries(gauges) as [K, { name: string; help: string }][];
  const names = entries.map(([, { name }]) => name).join(", ");
  const readers = series.map(({ labels, measure }) => ({
    labels,
    read: createCachedMeasurement(measure, { name: names, cacheMs }, log),
  }));
  for (const [key, { name, help }] of entries) {
    new Gauge({
      name,
      help,
      labelNames: shardLabelNames(series),
      registers: [registry],
      async collect() {
        for (const { labels, value } of await Promise.all(
          readers.map(async ({ labels, read }) => ({ labels, value: (await read())?.[key] })),
        ))
          this.set(labels, value ?? Number.NaN);
      },
    });
  }
}
