import { Gauge, type Registry } from "prom-client";
import type { Logger } from "../process/logger.ts";
import { createCachedMeasurement } from "./measurement.ts";

/**
 * Registers a gauge for each value that `measure` returns. A scrape calls `measure` once for all of them, or uses a cached result (see
 * MeasurementOptions). Without a result, for example because `measure` fails or takes too long, the gauges are NaN.
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
