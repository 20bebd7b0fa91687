export type Attributes = Readonly<Record<string, string | number | readonly string[] | undefined>>;

export type SpanOptions = { kind?: "client" | "server"; attributes?: Attributes };

/** A piece of work, as it will stand in its trace. */
export type Span = {
  set(attributes: Attributes): void;
  /** Runs `work` with this span as the parent of whatever it begins. */
  run<T>(work: () => T): T;
  /** Ends it; `failure` is a stable code or a name, never a message. */
  end(failure?: string): void;
};

/** What the seams of a service need of a tracing library. */
export type Tracer = {
  /** A span that begins a trace. */
  root(name: string, options: SpanOptions): Span;
  /** A span under the one that is being run; undefined where none is. */
  child(name: string, options: SpanOptions): Span | undefined;
  /** A span under a caller's, read from what came with its call; undefined when the caller sent none. */
  remote(read: (key: string) => string | undefined, name: string, options: SpanOptions): Span | undefined;
  /** Writes what a peer needs to go on under `span`. */
  inject(span: Span, write: (key: string, value: string) => void): void;
  /** Adds to the span that is being run. */
  annotate(attributes: Attributes): void;
  /** What log lines carry of the span that is being run. */
  ids(): { trace_id: string; span_id: string } | undefined;
  /** Runs `work` outside any trace. */
  outside<T>(work: () => T): T;
};

// One a process, as its metrics' registry and its exporter are; undefined, and no library loaded, unless traces are wanted.
let installed: Tracer | undefined;

export function installTracer(tracer: Tracer | undefined): void {
  installed = tracer;
}

/** The process's tracer; undefined when traces are off. */
export function tracer(): Tracer | undefined {
  return installed;
}

/** A span under the one that is being run, to be ended by the caller; undefined when there is nothing to trace. */
export function openSpan(name: string, options: SpanOptions): Span | undefined {
  return installed?.child(name, options);
}

/** Runs `work` as a span under the one that is being run; just runs it when there is nothing to trace. */
export function withSpan<T>(name: string, options: SpanOptions, work: (span?: Span) => Promise<T>): Promise<T> {
  const span = openSpan(name, options);
  return span === undefined
    ? work()
    : ended(
        span,
        span.run(() => work(span)),
      );
}

async function ended<T>(span: Span, work: Promise<T>): Promise<T> {
  try {
    const result = await work;
    span.end();
    return result;
  } catch (error) {
    span.end(failureOf(error));
    throw error;
  }
}

/** What a span says of an error: its stable code or its name. */
export function failureOf(error: unknown): string {
  const { code, name } = error as { code?: unknown; name?: unknown };
  if (typeof code === "string" || typeof code === "number") return String(code);
  return typeof name === "string" ? name : "unknown";
}
