import { DURATION_BUCKETS, Histogram, type Registry } from "@parley/service-kit";

const JOB_OUTCOMES = ["ok", "queue_full", "wait_timeout", "match_timeout", "failed"] as const;

export type JobOutcome = (typeof JOB_OUTCOMES)[number];

export function createMatchDurationHistogram(registry: Registry): Histogram<"result"> {
  const histogram = new Histogram({
    name: "parley_moderation_duration_seconds",
    help: "Time to match a text against a bot's patterns or to check a pattern, including queueing, by result: ok, or refused as queue_full, wait_timeout, match_timeout or failed.",
    labelNames: ["result"],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  });
  // Every series starts at 0, because rate() misses the first observation of a series that does not exist yet.
  for (const result of JOB_OUTCOMES) histogram.zero({ result });
  return histogram;
}
