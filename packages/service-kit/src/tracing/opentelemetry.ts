import * as api from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { resourceFromAttributes } from "@opentelemetry/resources";
import {
  BatchSpanProcessor,
  ParentBasedSampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { Logger } from "../process/logger.ts";
import { createExporter } from "./exporter.ts";
import type { Attributes, Span, SpanIds, SpanOptions, Tracer } from "./tracer.ts";

const SEND_INTERVAL_MS = 1_000;
const MAX_QUEUED_SPANS = 8_192;
const MAX_ATTRIBUTE_CHARACTERS = 256;

const KINDS = { client: api.SpanKind.CLIENT, server: api.SpanKind.SERVER } as const;

type OpenSpan = Span & { context: api.Context };

export type TracerOptions = {
  endpoint: string;
  /** The share of new traces that are recorded, from 0 to 1. */
  ratio: number;
  /** Returns the current headers for the collector: `name=value`, separated by commas. */
  headers: (() => string) | undefined;
};

/** Returns a tracer that sends batches of spans to an OTLP collector. `shutDown` sends the last batch and ends the tracer. */
export function createTracer(service: string, { endpoint, ratio, headers }: TracerOptions, log: Logger) {
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ "service.name": service, "service.namespace": "parley" }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(ratio) }),
    spanLimits: { attributeValueLengthLimit: MAX_ATTRIBUTE_CHARACTERS },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: createExporter(endpoint, headers, log),
        scheduledDelayMillis: SEND_INTERVAL_MS,
        maxQueueSize: MAX_QUEUED_SPANS,
      }),
    ],
  });
  api.context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const otelTracer = provider.getTracer("parley");
  const propagator = new W3CTraceContextPropagator();

  function openSpan(parent: api.Context, name: string, { kind, attributes }: SpanOptions): OpenSpan {
    const options = { kind: kind ? KINDS[kind] : api.SpanKind.INTERNAL, attributes: withoutUndefined(attributes) };
    const span = otelTracer.startSpan(name, options, parent);
    const context = api.trace.setSpan(parent, span);
    return {
      context,
      setAttributes: (more) => void span.setAttributes(withoutUndefined(more)),
      run: (work) => api.context.with(context, work),
      end(failure) {
        if (failure !== undefined) {
          span.setAttribute("error.type", failure);
          span.setStatus({ code: api.SpanStatusCode.ERROR });
        }
        span.end();
      },
    };
  }

  const tracer: Tracer = {
    openRoot: (name, options) => openSpan(api.ROOT_CONTEXT, name, options),
    openChild(name, options) {
      const parent = api.context.active();
      return api.trace.getSpan(parent) && openSpan(parent, name, options);
    },
    openRemoteChild(read, name, options) {
      const parent = propagator.extract(api.ROOT_CONTEXT, read, {
        get: (carrier, key) => carrier(key),
        keys: () => [],
      });
      return api.trace.getSpan(parent) && openSpan(parent, name, options);
    },
    inject(span, write) {
      propagator.inject((span as OpenSpan).context, write, { set: (carrier, key, value) => carrier(key, value) });
    },
    annotateActiveSpan: (attributes) => void api.trace.getActiveSpan()?.setAttributes(withoutUndefined(attributes)),
    activeIds: () => toIds(api.trace.getActiveSpan()?.spanContext()),
    recordedIds() {
      const context = api.trace.getActiveSpan()?.spanContext();
      const isRecorded = ((context?.traceFlags ?? 0) & api.TraceFlags.SAMPLED) !== 0;
      return isRecorded ? toIds(context) : undefined;
    },
    runOutsideTrace: (work) => api.context.with(api.ROOT_CONTEXT, work),
  };
  return { tracer, shutDown: () => provider.shutdown() };
}

function toIds(context: api.SpanContext | undefined): SpanIds | undefined {
  return context && { trace_id: context.traceId, span_id: context.spanId };
}

function withoutUndefined(attributes: Attributes = {}): api.Attributes {
  const entries = Object.entries(attributes).filter(([, value]) => value !== undefined);
  return Object.fromEntries(entries) as api.Attributes;
}
