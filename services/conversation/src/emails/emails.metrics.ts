import { Counter, type Logger, type Registry, registerShardGauges, type Shard, startAtZero } from "@parley/service-kit";
import { measureEmails } from "./queue.store.ts";

const CACHE_MS = 15_000;

export function createEmailCounter(registry: Registry): Counter<"result"> {
  const counter = new Counter({
    name: "parley_emails_total",
    help: "Attempts to send a message by e-mail, by result: sent, retried (failed, another attempt follows) or failed (the last one, or refused for good). held counts messages above the limit of their workspace, which a summary replaces.",
    labelNames: ["result"],
    registers: [registry],
  });
  startAtZero(counter, { result: ["sent", "retried", "failed", "held"] });
  return counter;
}

export function registerEmailGauge(registry: Registry, shards: readonly Shard[], log: Logger): void {
  registerShardGauges(
    registry,
    {
      oldestSeconds: {
        name: "parley_email_oldest_seconds",
        help: "Age of the oldest message that waits to be sent by e-mail. It grows while the mail server fails.",
      },
    },
    shards,
    ({ database }) => measureEmails(database),
    log,
    CACHE_MS,
  );
}
