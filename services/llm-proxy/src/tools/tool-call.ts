/** A call that a model asks for. */
export type ToolRequest = {
  /** What the model calls it by; its result goes back under the same id. */
  id: string;
  name: string;
  /** As the model wrote them; meant to be a JSON object. */
  arguments: string;
};

/** How a call went, as the transcript shows it. */
export type ToolStatus =
  | "ok"
  | "failed"
  | "timeout"
  | "too_large"
  | "invalid_arguments"
  | "unknown_tool"
  | "not_allowed"
  | "over_limit";

/** A call that has been made, or refused. */
export type ToolUse = {
  name: string;
  /** A JSON object; {} when the model gave none. */
  arguments: string;
  status: ToolStatus;
  latencyMs: number;
};

/** One time that the model was asked and called tools instead of finishing. */
export type ToolRound = {
  /** What it said before it called them. */
  text: string;
  /** What it called, each with what it is told came of it. */
  calls: readonly { request: ToolRequest; result: string }[];
};

/** What a model is told of a tool. */
export type ToolFunction = { name: string; description: string; parameters: Record<string, unknown> };

/** A call that failed; its message is for the model. */
export class ToolFailure extends Error {
  readonly status: ToolStatus;
  /** What an operator should know, for the log: words of our own. */
  readonly detail: string;

  constructor(status: ToolStatus, message: string, detail: string = "") {
    super(message);
    this.name = "ToolFailure";
    this.status = status;
    this.detail = detail;
  }
}
