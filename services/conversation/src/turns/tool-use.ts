import type { ToolUse as ToolUseMessage } from "@parley/rpc/conversation";
import { withoutNul } from "../text.ts";

/** A tool call, in the transcript's format. */
export type ToolUse = { name: string; arguments: Record<string, unknown>; status: string; latency_ms: number };

/** Arguments with more levels of objects and arrays are not stored. */
const MAX_DEPTH = 32;

export function toToolUse({ name, arguments: text, status, latencyMs }: ToolUseMessage): ToolUse {
  return { name: withoutNul(name), arguments: parseArguments(text), status: withoutNul(status), latency_ms: latencyMs };
}

/** Parses the arguments that a model sent. Returns {} if they are not a JSON object, are nested too deeply, or cannot be stored as jsonb. */
function parseArguments(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) && isStorable(value, MAX_DEPTH) ? value : {};
  } catch {
    return {};
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** jsonb refuses NUL and lone surrogates in strings. */
function isStorable(value: unknown, maxDepth: number): boolean {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\0");
  if (typeof value !== "object" || value === null) return true;
  return (
    maxDepth > 0 &&
    Object.entries(value)
      .flat()
      .every((each) => isStorable(each, maxDepth - 1))
  );
}
