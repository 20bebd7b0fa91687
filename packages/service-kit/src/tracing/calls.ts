import type { CallObserver } from "@parley/rpc";
import { currentTracer, failureLabel, openSpan, type Span, type SpanOptions } from "./tracer.ts";

/** `method` is a name such as `parley.quota.v1.QuotaService/Reserve`. */
function methodAttributes(method: string): Record<string, string> {
  const [service = "", name = ""] = method.split("/");
  return { "rpc.system": "grpc", "rpc.service": service, "rpc.method": name };
}

/** Returns an observer that traces a client's calls and sends the trace context to the server, or undefined if tracing is off. */
export function createCallTracer(): CallObserver | undefined {
  const current = currentTracer();
  if (current === undefined) return undefined;
  return (method, metadata) => {
    const span = openSpan(method, { kind: "client", attributes: methodAttributes(method) });
    if (span === undefined) return undefined;
    current.inject(span, (key, value) => metadata.set(key, value));
    return (error) => span.end(error && failureLabel(error));
  };
}

type ServedCall = { method: string; metadata: { get(key: string): unknown[] }; request: object };

/** Opens a child of the caller's span. Returns undefined if the caller sent no trace context or tracing is off. */
export function openServerSpan({ method, metadata, request }: ServedCall): Span | undefined {
  const current = currentTracer();
  if (current === undefined) return undefined;
  const { turnId, workspaceId } = request as { turnId?: string; workspaceId?: string };
  const attributes = { ...methodAttributes(method), "parley.turn_id": turnId, "parley.workspace_id": workspaceId };
  const options: SpanOptions = { kind: "server", attributes };
  return current.openRemoteChild((key) => stringOrUndefined(metadata.get(key)[0]), method, options);
}

function stringOrUndefined(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
