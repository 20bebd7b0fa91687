import { OUTCOMES } from "@parley/rpc/outcomes";
import { Counter, DURATION_BUCKETS, Gauge, Histogram, type Registry, startAtZero } from "@parley/service-kit";

/** In seconds. Most replies take 1 to 20 s; no turn takes longer than 7 minutes. */
const TURN_BUCKETS = [0.1, 0.25, 0.5, 1, 1.5, 2, 3, 4, 5, 6, 8, 10, 12.5, 15, 20, 30, 45, 60, 120, 420];

export type StreamMetrics = ReturnType<typeof createStreamMetrics>;

export function createStreamMetrics(registry: Registry) {
  const registers = [registry];
  const metrics = {
    open: new Gauge({ name: "parley_streams_open", help: "Streams open in this process.", registers }),
    buffered: new Gauge({
      name: "parley_streams_buffered_bytes",
      help: "Bytes buffered for slow clients.",
      registers,
    }),
    waitingToStart: new Gauge({
      name: "parley_turns_waiting_to_start",
      help: "Messages that wait because their workspace, or the process, is starting as many turns as it may.",
      registers,
    }),
    refused: new Counter({
      name: "parley_streams_refused_total",
      help: "Streams refused with 503, by reason. process: this process has too many streams. client: the address or the user has too many streams, the session has too many running replies, or the reply has too many readers. workspace and overload: a turn waited too long to be started, or the queue of its workspace was full or too slow. The reason is workspace if the workspace was starting as many turns as one workspace may, and overload otherwise. draining: the process is ending its streams.",
      labelNames: ["reason"],
      registers,
    }),
    stalled: new Counter({
      name: "parley_streams_stalled_total",
      help: "Streams cut because the client stopped reading.",
      registers,
    }),
    turns: new Counter({
      name: "parley_turns_total",
      help: "Turns by finish reason and error code.",
      labelNames: ["finish", "code"],
      registers,
    }),
    storedDoneAfterError: new Counter({
      name: "parley_turns_done_after_error_total",
      help: "Turns stored as done and counted against the quota, although the edge ended their streams with an error.",
      registers,
    }),
    attaches: new Counter({
      name: "parley_turn_attaches_total",
      help: "Readers that attached to a turn by repeating its idempotency key, by where the turn's reply was: in this process, in another edge, or in the database.",
      labelNames: ["where"],
      registers,
    }),
    detached: new Counter({
      name: "parley_turns_detached_total",
      help: "Replies whose last reader left while they were running, by what followed: a reader came back, the reply completed, or it was cancelled.",
      labelNames: ["result"],
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
      help: "Parley's own share of the time to the first token: without the provider, llm-proxy's queue for the provider, and tool calls.",
      buckets: DURATION_BUCKETS,
      registers,
    }),
    duration: new Histogram({
      name: "parley_turn_duration_seconds",
      help: "Time from the request to the end of the reply.",
      buckets: TURN_BUCKETS,
      registers,
    }),
  };
  for (const { finishReason, errorCodes } of Object.values(OUTCOMES))
    startAtZero(metrics.turns, { finish: [finishReason], code: errorCodes });
  startAtZero(metrics.attaches, { where: ["local", "remote", "stored"] });
  startAtZero(metrics.detached, { result: ["resumed", "completed", "cancelled"] });
  startAtZero(metrics.refused, { reason: ["process", "client", "workspace", "overload", "draining"] });
  return metrics;
}
