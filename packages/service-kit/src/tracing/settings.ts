import type { Environment } from "../environment.ts";

export type TracingSettings = {
  /** The base URL of a collector for OTLP over HTTP. */
  endpoint: string;
  /** The share of traces that is sampled, from 0 to 1. A called service follows its caller's decision. */
  ratio: number;
};

/** Reads OpenTelemetry's variables. Returns undefined, which turns tracing off, if no endpoint is set. */
export function readTracing(environment: Environment): TracingSettings | undefined {
  const endpoint = environment.optionalUrl("OTEL_EXPORTER_OTLP_ENDPOINT", ["http", "https"]);
  const ratio = environment.ratio("OTEL_TRACES_SAMPLER_ARG", 1);
  return endpoint === undefined ? undefined : { endpoint, ratio };
}
