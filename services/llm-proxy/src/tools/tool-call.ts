/** A tool call that a model requests. */
export type ToolRequest = {
  /** The model's id of the call. The result is sent with the same id. */
  id: string;
  name: string;
  /** As the model wrote them; valid arguments are a JSON object. */
  arguments: string;
};

/** How a tool call ended. A session's transcript contains the status in `tools_called`. */
export const TOOL_STATUSES = [
  "ok",
  "failed",
  "timeout",
  "too_large",
  "invalid_arguments",
  "unknown_tool",
  "not_allowed",
  "over_limit",
] as const;

export type ToolStatus = (typeof TOOL_STATUSES)[number];

/** A tool call that was made or refused. */
export type ToolUse = {
  name: string;
  /** A JSON object; {} if the model's arguments are not a JSON object or exceed a limit. */
  arguments: string;
  status: ToolStatus;
  latencyMs: number;
};

/** One completion that called tools, with the results. The next prompt contains all of it. */
export type ToolRound = {
  /** The completion's text before the calls. */
  text: string;
  /** The model's message in its provider's format; undefined if the next prompt is for another model. Must reach nobody but that provider. */
  assistantMessage: Record<string, unknown> | undefined;
  calls: readonly { request: ToolRequest; result: string }[];
};

export type ToolFunction = { name: string; description: string; parameters: Record<string, unknown> };

/** A tool that a model may call. */
export type CallableTool = {
  kind: "http" | "mcp" | "builtin";
  function: ToolFunction;
  /** Returns what is wrong with the arguments, for the model; undefined when they are valid or cannot be checked. */
  findProblem(args: Record<string, unknown>): string | undefined;
  /** Calls the tool and returns its result as text. Throws the signal's reason, or an error that toToolFailure maps. */
  call(args: Record<string, unknown>, signal: AbortSignal): Promise<string>;
};

/** A failed tool call. Its message is for the model. */
export class ToolFailure extends Error {
  readonly status: ToolStatus;
  /** The cause, for the log. Must not contain text from the tool's server. */
  readonly detail: string;

  constructor(status: ToolStatus, message: string, detail: string = "") {
    super(message);
    this.name = "ToolFailure";
    this.status = status;
    this.detail = detail;
  }
}
