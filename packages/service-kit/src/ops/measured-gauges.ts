import { Gauge, type Registry } from "prom-client";
import type { Logger } from "../process/logger.ts";
import { createCachedMeasurement } from "./measurement.ts";

/**
 * Registers gauges that are measured on each scrape, all with one call of `measure`. If `measure` fails or takes too long, the gauges are
 * NaN. `gauges` has the metric name and help text of each value that `measure` returns. For `cacheMs` see MeasurementOptions.
 */
export function registerMeasuredGauges<K extends string>(
  registry: Registry,
  gauges: Readonly<Record<K, { name: string; help: string }>>,
  measure: () => Promise<Readonly<Record<K, number>>>,
  log: Logger,
  cacheMs = 0,
): void {
  const entries = Object.entries(gauges) as [K, { name: string; help: string }][];
  const read = createCachedMeasurement(measure, { name: entries.map(([, { name }]) => name).join(", "), cacheMs }, log);
  for (const [key, { name, help }] of entries) {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set((await read())?.[key] ?? Number.NaN);
      },
    });
  }
}
