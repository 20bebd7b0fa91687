import { Gauge, type Registry } from "prom-client";
import type { Logger } from "./logger.ts";
import { createMeasurement } from "./measurement.ts";

/**
 * Gauges that are measured when they are scraped, all of one scrape by one call of `measure`; NaN while that fails or takes too long.
 * `gauges` says of each thing measured its metric's name and what it tells.
 */
export function registerMeasuredGauges<K extends string>(
  registry: Registry,
  gauges: Readonly<Record<K, { name: string; help: string }>>,
  measure: () => Promise<Readonly<Record<K, number>>>,
  log: Logger,
): void {
  const entries = Object.entries(gauges) as [K, { name: string; help: string }][];
  const read = createMeasurement(measure, { name: entries.map(([, { name }]) => name).join(", "), everyMs: 0 }, log);
  for (const [thing, { name, help }] of entries) {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set((await read())?.[thing] ?? Number.NaN);
      },
    });
  }
}
