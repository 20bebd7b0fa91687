import type { Environment } from "../settings/environment.ts";
import { parseSecretText, type SecretSource } from "../settings/secrets.ts";

export type TracingSettings = {
  /** The base URL of a collector for OTLP over HTTP. */
  endpoint: string;
  /** The share of traces that is sampled, from 0 to 1. A called service follows its caller's decision. */
  ratio: number;
  /**
   * The file that OTEL_EXPORTER_OTLP_HEADERS_FILE names. It contains headers for the collector as `name=value`, separated by commas. Undefined
   * if that variable is not set. The exporter itself reads OTEL_EXPORTER_OTLP_HEADERS.
   */
  headers?: SecretSource<string> | undefined;
};

/** Reads OpenTelemetry's variables. Returns undefined, which turns tracing off, if no endpoint is set. */
export function readTracing(environment: Environment): TracingSettings | undefined {
  const endpoint = environment.optionalUrl("OTEL_EXPORTER_OTLP_ENDPOINT", ["http", "https"]);
  const ratio = environment.ratio("OTEL_TRACES_SAMPLER_ARG", 1);
  const headers = environment.optionalSecret("OTEL_EXPORTER_OTLP_HEADERS", parseSecretText);
  if (endpoint === undefined) return undefined;
  return { endpoint, ratio, headers: headers && "file" in headers ? headers : undefined };
}
