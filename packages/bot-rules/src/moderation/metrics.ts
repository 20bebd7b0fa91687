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
  // Start every series at 0. rate() would miss the first refusal in a series that starts with it.
  for (const result of JOB_OUTCOMES) histogram.zero({ result });
  return histogram;
}
