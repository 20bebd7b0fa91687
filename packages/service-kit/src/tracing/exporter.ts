import { type ExportResult, ExportResultCode } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import type { Logger } from "../logger.ts";

const TIMEOUT_MS = 5_000;

/** Sends spans to a collector. One that is away costs its spans and a log line, and another when it is back. */
export function createExporter(endpoint: string, log: Logger): SpanExporter {
  const otlp = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, "")}/v1/traces`,
    timeoutMillis: TIMEOUT_MS,
    concurrencyLimit: 2,
  });
  let isAway = false;
  return {
    export(spans: ReadableSpan[], done: (result: ExportResult) => void) {
      otlp.export(spans, ({ code }) => {
        const failed = code !== ExportResultCode.SUCCESS;
        // Not the error: what a collector answers, or what its URL holds, is nothing to print.
        if (failed && !isAway) log.warn("the trace collector does not take spans; they are dropped until it does");
        if (!failed && isAway) log.info("the trace collector takes spans again");
        isAway = failed;
        done({ code: ExportResultCode.SUCCESS });
      });
    },
    forceFlush: () => otlp.forceFlush(),
    shutdown: () => otlp.shutdown(),
  };
}
