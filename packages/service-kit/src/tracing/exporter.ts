import { type ExportResult, ExportResultCode, parseKeyPairsIntoRecord } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import type { ReadableSpan, SpanExporter } from "@opentelemetry/sdk-trace";
import type { Logger } from "../process/logger.ts";

const TIMEOUT_MS = 5_000;

/**
 * Creates an exporter that reads `headers` again for each batch. While the collector fails, the exporter drops spans. The exporter logs when
 * the failure starts and ends.
 */
export function createExporter(endpoint: string, headers: (() => string) | undefined, log: Logger): SpanExporter {
  const otlp = new OTLPTraceExporter({
    url: `${endpoint.replace(/\/+$/, "")}/v1/traces`,
    timeoutMillis: TIMEOUT_MS,
    concurrencyLimit: 2,
    ...(headers && { headers: async () => parseKeyPairsIntoRecord(headers()) }),
  });
  let isFailing = false;
  return {
    export(spans: ReadableSpan[], callback: (result: ExportResult) => void) {
      otlp.export(spans, ({ code }) => {
        const hasFailed = code !== ExportResultCode.SUCCESS;
        // Does not log the error, because it could contain the collector's response or URL.
        if (hasFailed && !isFailing) log.warn("trace export failed, dropping spans");
        if (!hasFailed && isFailing) log.info("trace export recovered");
        isFailing = hasFailed;
        callback({ code: ExportResultCode.SUCCESS });
      });
    },
    forceFlush: () => otlp.forceFlush(),
    shutdown: () => otlp.shutdown(),
  };
}
