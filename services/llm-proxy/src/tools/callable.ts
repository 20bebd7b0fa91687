import type { ToolFunction } from "./tool-call.ts";

export type CallOptions = {
  /** Aborted when nobody waits for the answer any more. */
  signal: AbortSignal;
};

/** Something that a model may call. */
export type CallableTool = {
  kind: "http" | "mcp";
  function: ToolFunction;
  /** What is wrong with arguments, for the model that gave them; undefined when nothing is known to be. */
  problemWith(values: Record<string, unknown>): string | undefined;
  /** Calls it; resolves with its answer as text. Throws ToolFailure, or what the signal was aborted with. */
  call(values: Record<string, unknown>, options: CallOptions): Promise<string>;
};
