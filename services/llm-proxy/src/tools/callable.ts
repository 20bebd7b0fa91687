import type { ToolFunction } from "./tool-call.ts";

/** A tool that a model may call. */
export type CallableTool = {
  kind: "http" | "mcp";
  function: ToolFunction;
  /** Returns what is wrong with the arguments, for the model; undefined when they are valid or cannot be checked. */
  findProblem(args: Record<string, unknown>): string | undefined;
  /** Calls the tool and returns its result as text. Throws ToolFailure, or the signal's reason. */
  call(args: Record<string, unknown>, signal: AbortSignal): Promise<string>;
};
