import { Counter, DURATION_BUCKETS, Gauge, Histogram, type Registry } from "@parley/service-kit";
import { FAILURE_CODES } from "../turns/index.ts";

export type StreamMetrics = ReturnType<typeof createStreamMetrics>;

export function createStreamMetrics(registry: Registry) {
  const registers = [registry];
  const turns = new Counter({
    name: "parley_turns_total",
    help: "Turns by how they ended and, when they failed, why.",
    labelNames: ["finish", "code"],
    registers,
  });
  // A series that begins with its first failure would hide that one from rate().
  for (const finish of ["stop", "blocked", "cancelled"]) turns.inc({ finish, code: "" }, 0);
  for (const code of FAILURE_CODES) turns.inc({ finish: "error", code }, 0);
  turns.inc({ finish: "quota_exceeded", code: "quota_exceeded" }, 0);
  return {
    open: new Gauge({ name: "parley_streams_open", help: "Streams open in this process.", registers }),
    buffered: new Gauge({
      name: "parley_streams_buffered_bytes",
      help: "What waits for readers that are slow.",
      registers,
    }),
    refused: new Counter({
      name: "parley_streams_refused_total",
      help: "Streams refused with 503, by why: this process is full, or its client has too many, or it stops.",
      labelNames: ["reason"],
      registers,
    }),
    stalled: new Counter({
      name: "parley_streams_stalled_total",
      help: "Streams cut because their reader took nothing.",
      registers,
    }),
    turns,
    firstToken: new Histogram({
      name: "parley_first_token_seconds",
      help: "From the request to the first token of its reply.",
      buckets: DURATION_BUCKETS,
      registers,
    }),
    overhead: new Histogram({
      name: "parley_first_token_overhead_seconds",
      help: "Of the time to the first token what was our own: all but the waiting for a place at a provider, and for the provider.",
      buckets: DURATION_BUCKETS,
      registers,
    }),
    duration: new Histogram({
      name: "parley_turn_duration_seconds",
      help: "From the request to the end of its stream.",
      buckets: DURATION_BUCKETS,
      registers,
    }),
  };
}
