import type { CallObserver } from "@parley/rpc";
import { failureOf, openSpan, type Span, type SpanOptions, tracer } from "./tracer.ts";

/** `parley.quota.v1.QuotaService/Reserve` in OpenTelemetry's words. */
function describeCall(method: string): Record<string, string> {
  const [service = "", name = ""] = method.split("/");
  return { "rpc.system": "grpc", "rpc.service": service, "rpc.method": name };
}

/** Makes a span of each call of a client and has the peer go on under it; undefined when traces are off. */
export function callObserver(): CallObserver | undefined {
  const current = tracer();
  if (current === undefined) return undefined;
  return (method, metadata) => {
    const span = openSpan(method, { kind: "client", attributes: describeCall(method) });
    if (span === undefined) return undefined;
    current.inject(span, (key, value) => metadata.set(key, value));
    return (error) => span.end(error && failureOf(error));
  };
}

type Served = { method: string; metadata: { get(key: string): unknown[] }; request: object };

/** The span of a call that is served here, under its caller's; undefined when there is nothing to trace. */
export function servedCall({ method, metadata, request }: Served): Span | undefined {
  const current = tracer();
  if (current === undefined) return undefined;
  const { turnId, workspaceId } = request as { turnId?: string; workspaceId?: string };
  const attributes = { ...describeCall(method), "parley.turn_id": turnId, "parley.workspace_id": workspaceId };
  const options: SpanOptions = { kind: "server", attributes };
  return current.remote((key) => textOf(metadata.get(key)[0]), method, options);
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
