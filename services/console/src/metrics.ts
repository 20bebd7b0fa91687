import { Counter, DURATION_BUCKETS, Histogram, type Registry } from "@parley/service-kit";

export type Metrics = ReturnType<typeof createMetrics>;

/** Labels are routes, methods and codes, never an owner's input. */
export function createMetrics(registry: Registry) {
  const registers = [registry];
  return {
    durations: new Histogram({
      name: "parley_console_request_duration_seconds",
      help: "Time from a request to the end of its response, by route, method and status; 499 means the browser left before a response.",
      labelNames: ["route", "method", "status"],
      buckets: DURATION_BUCKETS,
      registers,
    }),
    calls: new Counter({
      name: "parley_console_calls_total",
      help: "Calls that the console forwarded to the admin services and the edge's owner API, by RPC method or owner API route, and by HTTP status.",
      labelNames: ["method", "status"],
      registers,
    }),
    signIns: new Counter({
      name: "parley_console_sign_ins_total",
      help: "Sign-ins and session refreshes, by result: signed_in, refreshed, session_ended or the code of a failure.",
      labelNames: ["result"],
      registers,
    }),
  };
}
