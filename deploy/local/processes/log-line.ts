export type LogLine = {
  /** A `fatal` line explains why the process exits. */
  level: "info" | "warn" | "error" | "fatal";
  text: string;
};

const LEVELS_ABOVE_INFO = ["warn", "error", "fatal"] as const;
const MAX_TEXT_CHARACTERS = 300;

/** Parses a JSON log line or an error's message line. Returns undefined for other lines, such as those of a stack trace. */
export function parseLogLine(line: string): LogLine | undefined {
  const entry = parseJsonLine(line);
  if (!entry) return isErrorMessage(line) ? { level: "fatal", text: line.slice(0, MAX_TEXT_CHARACTERS) } : undefined;
  const { level, message, error, events } = entry;
  // A summary of repeated errors names them only in `events`.
  const reason = error?.message ?? error?.code ?? (events && Object.keys(events).join("; "));
  const isMessageComplete = reason === undefined || message?.includes(reason);
  const parts = isMessageComplete ? [message] : [message, reason];
  const text = parts.filter(Boolean).join(": ").slice(0, MAX_TEXT_CHARACTERS);
  return { level: LEVELS_ABOVE_INFO.find((each) => each === level) ?? "info", text };
}

type Entry = {
  level?: string;
  message?: string;
  error?: { message?: string; code?: string };
  /** Counts by event. */
  events?: Record<string, number>;
};

function parseJsonLine(line: string): Entry | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return JSON.parse(line) as Entry;
  } catch {
    return undefined;
  }
}

/** Matches the message line of an uncaught error, or of a configuration error such as `quota: DATABASE_URL is not set`. */
function isErrorMessage(line: string): boolean {
  return /^[\w$-]+(\s\[\w+\])?: \S/.test(line);
}
