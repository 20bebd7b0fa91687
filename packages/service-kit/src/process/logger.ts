import { type DestinationStream, type Logger, type LoggerOptions, pino } from "pino";
import { currentTracer } from "../tracing/tracer.ts";
import { LEVEL_NUMBERS, REPEAT_PERIOD_MS, RepeatedErrors } from "./repeated-errors.ts";

export type { Logger };

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

export const LOG_LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error", "silent"];

// Redacted at the top level of a line and one level below, in case a library logs them.
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
 * Returns a logger that writes JSON lines to `destination`, by default stdout. Within a trace, a line has the trace and span ids. Except at the
 * level `debug`, repeated errors are summarised: see RepeatedErrors.
 */
export function createLogger(service: string, level: LogLevel, destination?: DestinationStream): Logger {
  const repeatedErrors = new RepeatedErrors(({ level: number, latest, ...repeats }) => {
    const fields = { ...repeats, seconds: REPEAT_PERIOD_MS / 1_000, latest: summarizeLatest(latest) };
    const level = number >= LEVEL_NUMBERS.error ? "error" : number >= LEVEL_NUMBERS.warn ? "warn" : "info";
    log[level](fields, "errors repeated");
  });
  const options: LoggerOptions = {
    level,
    base: { service },
    messageKey: "message",
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    mixin: () => currentTracer()?.activeIds() ?? {},
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor },
    serializers: { error: describeError },
    ...(level !== "debug" && {
      hooks: {
        logMethod(args, write, number) {
          const [fields, message] = args as [unknown, string?];
          if (repeatedErrors.suppress(number, fields, message ?? "")) return;
          write.apply(this, args);
        },
      },
    }),
  };
  const log = destination === undefined ? pino(options) : pino(options, destination);
  return log;
}

/** The first line of an event has the whole error, so the summary repeats only its message. */
function summarizeLatest(latest: unknown): unknown {
  return latest instanceof Error ? { name: latest.name, message: latest.message } : latest;
}

// A number is a measurement, not a secret: for example the milliseconds of a turn's phase `token`.
function censor(value: unknown): unknown {
  return typeof value === "number" ? value : "[redacted]";
}

/**
 * Returns the loggable parts of an error and its causes: names, codes, statuses, messages and stacks. Omits all other fields, which may hold a
 * query's values or a request's body. A message may still quote a part of them.
 */
export function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { name: typeof error };
  const { code, status } = error as { code?: unknown; status?: unknown };
  return {
    name: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    ...(status === undefined ? {} : { status }),
    // Line 0 repeats the message.
    stack: error.stack?.split("\n").slice(1, 6).join("\n"),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
}
