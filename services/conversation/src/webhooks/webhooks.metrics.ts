import { Counter, type Logger, type Registry, registerShardGauges, type Shard, startAtZero } from "@parley/service-kit";
import { measureWebhooks } from "./queue.store.ts";

/** A measurement reads up to 100,000 rows. */
const CACHE_MS = 15_000;

export function createDeliveryCounter(registry: Registry): Counter<"result"> {
  const counter = new Counter({
    name: "parley_webhook_deliveries_total",
    help: "Attempts to deliver a webhook, by result: delivered, retried (failed, another attempt follows) or failed (the last one). dropped counts undelivered events that were deleted because 100,000 later ones of their endpoint waited.",
    labelNames: ["result"],
    registers: [registry],
  });
  startAtZero(counter, { result: ["delivered", "retried", "failed", "dropped"] });
  return counter;
}

export function registerWebhookGauges(registry: Registry, shards: readonly Shard[], log: Logger): void {
  registerShardGauges(
    registry,
    {
      backlog: { name: "parley_webhook_backlog", help: "Undelivered events of all endpoints, counted up to 100,000." },
      oldestSeconds: {
        name: "parley_webhook_oldest_seconds",
        help: "Age of the oldest undelivered event of all endpoints. It grows while a receiver fails.",
      },
      uncopiedSeconds: {
        name: "parley_webhook_uncopied_oldest_seconds",
        help: "Age of the oldest event that is in no endpoint's queue yet. It grows if no replica dispatches the events.",
      },
    },
    shards,
    ({ database }) => measureWebhooks(database),
    log,
    CACHE_MS,
  );
}
