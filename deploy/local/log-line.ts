export type LogLine = {
  /** `fatal` is told with the end of the process, which it brings about. */
  level: "info" | "warn" | "error" | "fatal";
  /** What a person is told of it. */
  text: string;
};

const LEVELS = ["warn", "error", "fatal"] as const;
const MAX_CHARACTERS = 300;

/**
 * Reads a line that a process printed: JSON by its level and message, with the reason of its error; anything else, such as
 * an uncaught error, by what it says. Undefined when it tells a person nothing.
 */
export function readLogLine(line: string): LogLine | undefined {
  const entry = parse(line);
  if (!entry) return isTelling(line) ? { level: "fatal", text: line.slice(0, MAX_CHARACTERS) } : undefined;
  const { level, message, error } = entry;
  const reason = error?.message ?? error?.code;
  const isRepeated = reason === undefined || message?.includes(reason);
  const text = [message, ...(isRepeated ? [] : [reason])].join(": ").slice(0, MAX_CHARACTERS);
  return { level: LEVELS.find((each) => each === level) ?? "info", text };
}

type Entry = { level?: string; message?: string; error?: { message?: string; code?: string } };

function parse(line: string): Entry | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    return JSON.parse(line) as Entry;
  } catch {
    return undefined;
  }
}

/** Of an uncaught error's many lines only the one with the error says something to a person. */
function isTelling(line: string): boolean {
  return /^[\w$-]+(\s\[\w+\])?: \S/.test(line) && !line.startsWith("file:");
}
