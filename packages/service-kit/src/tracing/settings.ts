import type { Environment } from "../environment.ts";

export type TracingSettings = {
  /** Base URL of an OTLP collector that speaks HTTP. */
  endpoint: string;
  /** How much of the traces is kept, from 0 to 1; a service that is called goes by its caller. */
  ratio: number;
};

/** Reads OpenTelemetry's own variables; undefined, and everything off, without an endpoint. */
export function readTracing(environment: Environment): TracingSettings | undefined {
  const endpoint = environment.optionalUrl("OTEL_EXPORTER_OTLP_ENDPOINT", ["http", "https"]);
  const ratio = environment.ratio("OTEL_TRACES_SAMPLER_ARG", 1);
  return endpoint === undefined ? undefined : { endpoint, ratio };
}
