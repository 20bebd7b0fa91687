import { Gauge, type Registry } from "prom-client";
import type { Logger } from "./logger.ts";

/**
 * Gauges that are measured when they are scraped, all of one scrape by one call of `measure`; NaN while that fails.
 * `gauges` says of each thing measured its metric's name and what it tells.
 */
export function measuredGauges<K extends string>(
  registry: Registry,
  gauges: Readonly<Record<K, { name: string; help: string }>>,
  measure: () => Promise<Readonly<Record<K, number>>>,
  log: Logger,
): void {
  let measuring: Promise<Readonly<Record<K, number>>> | undefined;
  for (const [thing, { name, help }] of Object.entries(gauges) as [K, { name: string; help: string }][]) {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        measuring ??= measure().finally(() => {
          measuring = undefined;
        });
        try {
          this.set((await measuring)[thing]);
        } catch (error) {
          log.warn({ error, metric: name }, "cannot measure");
          this.set(Number.NaN);
        }
      },
    });
  }
}
