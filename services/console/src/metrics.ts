import { Counter, DURATION_BUCKETS, Histogram, type Registry, startAtZero } from "@parley/service-kit";

/** The results of sign-ins and session refreshes that do not depend on the identity provider's tokens. */
const SIGN_IN_RESULTS = [
  "signed_in",
  "refreshed",
  "session_ended",
  "sign_in_expired",
  "sign_in_refused",
  "sign_in_unavailable",
  "session_too_large",
  "internal_error",
];

export type Metrics = ReturnType<typeof createMetrics>;

/** Labels are routes, methods and codes, never an owner's input. */
export function createMetrics(registry: Registry) {
  const registers = [registry];
  const metrics = {
    durations: new Histogram({
      name: "parley_console_request_duration_seconds",
      help: "Time from a request to the end of its response, by route, method and status; 499 means the browser left before a response.",
      labelNames: ["route", "method", "status"],
      buckets: DURATION_BUCKETS,
      registers,
    }),
    calls: new Counter({
      name: "parley_console_calls_total",
      help: "Calls that the console forwarded to the admin services, and exports and answers to visitors that it forwarded to the edge, by RPC method or route, and by HTTP status.",
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
  startAtZero(metrics.signIns, { result: SIGN_IN_RESULTS });
  return metrics;
}
