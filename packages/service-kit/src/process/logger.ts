import { type DestinationStream, type Logger, type LoggerOptions, pino } from "pino";
import { currentTracer } from "../tracing/tracer.ts";

export type { Logger };

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

export const LOG_LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error", "silent"];

// Fields that are redacted in every line, because a library may log them. Our own code never logs them.
const SECRET_FIELDS = [
  "authorization",
  "public_key",
  "publicKey",
  "message_text",
  "content",
  "token",
  "password",
  "url",
];

/**
 * Returns a logger that writes JSON lines to `destination`, by default stdout. A line has the level as a word, the time in
 * ISO 8601 and the service's name. Within a trace, it also has the ids of the trace and the span.
 */
export function createLogger(service: string, level: LogLevel, destination?: DestinationStream): Logger {
  const options: LoggerOptions = {
    level,
    base: { service },
    messageKey: "message",
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    mixin: () => currentTracer()?.activeIds() ?? {},
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor },
    serializers: { error: describeError },
  };
  return destination === undefined ? pino(options) : pino(options, destination);
}

// A number is a measurement, not a secret: for example the milliseconds of a turn's phase `token`.
function censor(value: unknown): unknown {
  return typeof value === "number" ? value : "[redacted]";
}

/**
 * Returns the loggable parts of an error and its causes: names, codes, messages and stacks. Omits all other fields, which may hold a query's
 * values or a request's body. A message may quote a part of them.
 */
export function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { name: typeof error };
  const { code, status } = error as { code?: unknown; status?: unknown };
  return {
    name: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    ...(status === undefined ? {} : { status }),
    // The first five stack frames. Line 0 repeats the message.
    stack: error.stack?.split("\n").slice(1, 6).join("\n"),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
}
