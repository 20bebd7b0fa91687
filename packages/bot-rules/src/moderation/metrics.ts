import { DURATION_BUCKETS, Histogram, type Registry } from "@parley/service-kit";

const JOB_OUTCOMES = ["ok", "queue_full", "wait_timeout", "match_timeout", "failed"] as const;

export type JobOutcome = (typeof JOB_OUTCOMES)[number];

const JOB_KINDS = ["match", "check"] as const;

export function createPatternJobHistogram(registry: Registry): Histogram<"kind" | "result"> {
  const histogram = new Histogram({
    name: "parley_moderation_duration_seconds",
    help: "Time of a pattern job, including queueing. kind: match (a chat's message or reply) or check (an owner's pattern or test text). result: ok, or why the job was refused: queue_full, wait_timeout, match_timeout or failed.",
    labelNames: ["kind", "result"],
    buckets: DURATION_BUCKETS,
    registers: [registry],
  });
  // rate() misses the first observation of a series that did not exist before.
  for (const kind of JOB_KINDS) for (const result of JOB_OUTCOMES) histogram.zero({ kind, result });
  return histogram;
}
