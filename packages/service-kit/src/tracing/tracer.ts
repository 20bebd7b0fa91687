export type Attributes = Readonly<Record<string, string | number | readonly string[] | undefined>>;

export type SpanOptions = { kind?: "client" | "server"; attributes?: Attributes };

export type Span = {
  setAttributes(attributes: Attributes): void;
  /** Spans that `work` opens become children of this span. */
  run<T>(work: () => T): T;
  /** Ends the span. `failure` is a stable code or an error's name, never a message. */
  end(failure?: string): void;
};

export type SpanIds = { trace_id: string; span_id: string };

/** The tracing operations that services use. */
export type Tracer = {
  /** Opens the first span of a new trace. */
  openRoot(name: string, options: SpanOptions): Span;
  /** Opens a child of the active span. Undefined if no span is active. */
  openChild(name: string, options: SpanOptions): Span | undefined;
  /** Opens a child of the caller's span. `read` returns the value of a header. Undefined if the headers contain no trace context. */
  openRemoteChild(read: (key: string) => string | undefined, name: string, options: SpanOptions): Span | undefined;
  /** Writes the headers of a call, so that `openRemoteChild` opens a child of `span` at the callee. */
  inject(span: Span, write: (key: string, value: string) => void): void;
  annotateActiveSpan(attributes: Attributes): void;
  /** Returns the ids of the active span, for log lines. */
  activeIds(): SpanIds | undefined;
  /** Returns the ids of the active span if its trace is recorded. */
  recordedIds(): SpanIds | undefined;
  runOutsideTrace<T>(work: () => T): T;
};

// Undefined if tracing is off.
let installed: Tracer | undefined;

export function installTracer(tracer: Tracer | undefined): void {
  installed = tracer;
}

export function currentTracer(): Tracer | undefined {
  return installed;
}

/** Returns the active span's ids for a metric's exemplar, or none if its trace is not recorded. */
export function exemplarLabels(): Partial<SpanIds> {
  return installed?.recordedIds() ?? {};
}

/** Opens a child of the active span. The caller must end the child. Returns undefined if no span is active or tracing is off. */
export function openSpan(name: string, options: SpanOptions): Span | undefined {
  return installed?.openChild(name, options);
}

/** Runs `work` in a child of the active span. If no span is active or tracing is off, runs it without a span. */
export function withSpan<T>(name: string, options: SpanOptions, work: (span?: Span) => Promise<T>): Promise<T> {
  const span = openSpan(name, options);
  if (span === undefined) return work();
  return endSpanAfter(
    span,
    span.run(() => work(span)),
  );
}

async function endSpanAfter<T>(span: Span, work: Promise<T>): Promise<T> {
  try {
    const result = await work;
    span.end();
    return result;
  } catch (error) {
    span.end(failureLabel(error));
    throw error;
  }
}

/** Returns an error's code or name, for Span.end. */
export function failureLabel(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  if (typeof code === "string" || typeof code === "number") return String(code);
  return typeof name === "string" ? name : "unknown";
}
