import { type Logger, pino } from "pino";
import { tracer } from "./tracing/tracer.ts";

export type { Logger };

export type LogLevel = "debug" | "info" | "warn" | "error" | "silent";

export const LOG_LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error", "silent"];

// Fields that must never be printed, wherever a library may put them. Our own lines do not carry them at all.
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

/** JSON lines on stdout: level as a word, time in ISO 8601, the service's name, and the trace's id where there is one. */
export function createLogger(service: string, level: LogLevel): Logger {
  return pino({
    level,
    base: { service },
    messageKey: "message",
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
    mixin: () => tracer()?.ids() ?? {},
    redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`]), censor: "[redacted]" },
    serializers: { error: describeError },
  });
}

/** What a log line may say of an error: names, codes and stack, with its causes; never a query's values or a request's body. */
export function describeError(error: unknown): object {
  if (!(error instanceof Error)) return { name: typeof error };
  const { code, status } = error as { code?: unknown; status?: unknown };
  return {
    name: error.name,
    message: error.message,
    ...(code === undefined ? {} : { code }),
    ...(status === undefined ? {} : { status }),
    stack: error.stack?.split("\n").slice(1, 6).join("\n"),
    ...(error.cause === undefined ? {} : { cause: describeError(error.cause) }),
  };
}
