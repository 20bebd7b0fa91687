import {
  Counter,
  Histogram,
  type Logger,
  type Registry,
  registerShardGauges,
  type Shard,
  startAtZero,
} from "@parley/service-kit";
import type { Change } from "./handoff.store.ts";
import { countHandoffs } from "./list-handoffs.store.ts";

const CACHE_MS = 15_000;
/** In seconds. Visitors wait for 3 minutes by default, and for an hour at most. */
const WAIT_BUCKETS = [5, 10, 20, 30, 60, 90, 120, 180, 300, 600, 1_800, 3_600];

const RESULTS = ["requested", "assigned", "resolved", "missed", "unanswered", "inactive", "closed", "contact"] as const;
/** The help of the counter explains them. */
export type HandoffResult = (typeof RESULTS)[number];

export type HandoffMetrics = {
  count(result: HandoffResult): void;
  /** Measures how long a visitor who asked for a person waited for one. */
  observeWait(change: Change): void;
};

export function createHandoffMetrics(registry: Registry): HandoffMetrics {
  const results = new Counter({
    name: "parley_handoffs_total",
    help: "Changes of who answers a visitor, by result: requested (a person was asked for), assigned (a person took over), resolved (back to the bot), missed (nobody came in time), unanswered (the person did not answer in time), inactive (nobody wrote for long), closed (asked for outside of the bot's hours, so nobody was asked) or contact (a visitor left a contact message).",
    labelNames: ["result"],
    registers: [registry],
  });
  startAtZero(results, { result: RESULTS });
  const wait = new Histogram({
    name: "parley_handoff_wait_seconds",
    help: "Time from a request for a person until a person took over.",
    buckets: WAIT_BUCKETS,
    registers: [registry],
  });
  return {
    count: (result) => results.inc({ result }),
    observeWait: ({ waitMs }) => {
      if (waitMs !== null) wait.observe(waitMs / 1_000);
    },
  };
}

export function registerHandoffGauges(registry: Registry, shards: readonly Shard[], log: Logger): void {
  registerShardGauges(
    registry,
    {
      waiting: { name: "parley_handoffs_waiting", help: "Sessions whose visitors wait for a person." },
      assigned: { name: "parley_handoffs_assigned", help: "Sessions that a person answers." },
    },
    shards,
    ({ database }) => countHandoffs(database),
    log,
    CACHE_MS,
  );
}
