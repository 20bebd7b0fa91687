import { Counter, DURATION_BUCKETS, Gauge, Histogram, type Registry } from "@parley/service-kit";
import { FAILURE_CODES } from "../turns/index.ts";

export type StreamMetrics = ReturnType<typeof createStreamMetrics>;

export function createStreamMetrics(registry: Registry) {
  const registers = [registry];
  const turns = new Counter({
    name: "parley_turns_total",
    help: "Turns by outcome and error code.",
    labelNames: ["finish", "code"],
    registers,
  });
  // rate() misses the first increment of a series that does not exist yet, so each series starts at 0.
  for (const finish of ["stop", "blocked", "cancelled"]) turns.inc({ finish, code: "" }, 0);
  for (const code of FAILURE_CODES) turns.inc({ finish: "error", code }, 0);
  turns.inc({ finish: "quota_exceeded", code: "quota_exceeded" }, 0);
  const refused = new Counter({
    name: "parley_streams_refused_total",
    help: "Streams refused with 503, by reason: the process is at its cap, the client is at its cap, or the process is draining.",
    labelNames: ["reason"],
    registers,
  });
  for (const reason of ["process", "client", "draining"]) refused.inc({ reason }, 0);
  return {
    open: new Gauge({ name: "parley_streams_open", help: "Streams open in this process.", registers }),
    buffered: new Gauge({
      name: "parley_streams_buffered_bytes",
      help: "Bytes buffered for slow clients.",
      registers,
    }),
    refused,
    stalled: new Counter({
      name: "parley_streams_stalled_total",
      help: "Streams cut because the client stopped reading.",
      registers,
    }),
    turns,
    doneAfterError: new Counter({
      name: "parley_turns_done_after_error_total",
      help: "Turns stored as done, and counted, although the edge ended their streams with an error.",
      registers,
    }),
    firstToken: new Histogram({
      name: "parley_first_token_seconds",
      help: "Time from the request to the first token of the reply.",
      buckets: DURATION_BUCKETS,
      registers,
    }),
    overhead: new Histogram({
      name: "parley_first_token_overhead_seconds",
      help: "Parley's own share of the time to the first token: without the provider, its queue and tool calls.",
      buckets: DURATION_BUCKETS,
      registers,
    }),
    duration: new Histogram({
      name: "parley_turn_duration_seconds",
      help: "Time from the request to the end of the reply.",
      buckets: DURATION_BUCKETS,
      registers,
    }),
  };
}
