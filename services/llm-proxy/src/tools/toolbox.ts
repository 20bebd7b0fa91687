import { openSpan } from "@parley/service-kit";
import type { ToolLimits } from "../settings/index.ts";
import { cutText, replaceUnstorable } from "../text.ts";
import { runWithTimeout, toToolFailure } from "./failures.ts";
import { type CallableTool, ToolFailure, type ToolFunction, type ToolRequest, type ToolUse } from "./tool-call.ts";

/** `none` when the model called a tool that does not exist. */
export type ToolKind = CallableTool["kind"] | "none";

export type ToolResult = { request: ToolRequest; result: string; use: ToolUse };

export type ToolboxDeps = {
  limits: ToolLimits;
  /** A monotonic clock, in milliseconds. */
  now: () => number;
  /** Called after each tool call, unless `Toolbox.call` throws. `detail` is a failure's cause for the log; empty if there is none. */
  onCall: (kind: ToolKind, use: ToolUse, detail: string) => void;
  /** Closes the tools' connections. */
  close: () => Promise<void>;
};

const MAX_ARGUMENTS_CHARACTERS = 16 * 1024;
/**
 * Limit of nested objects and arrays. The conversation service has the same limit. JSON.stringify throws for thousands of levels, although
 * JSON.parse accepts them.
 */
const MAX_ARGUMENTS_DEPTH = 32;
const MAX_NUMBER_CHARACTERS = 40;

/** The tools of one generation, with its limits. */
export class Toolbox {
  readonly #tools: ReadonlyMap<string, CallableTool>;
  readonly #deps: ToolboxDeps;
  #calls = 0;

  constructor(tools: ReadonlyMap<string, CallableTool>, deps: ToolboxDeps) {
    this.#tools = tools;
    this.#deps = deps;
  }

  get functions(): ToolFunction[] {
    return [...this.#tools.values()].map((tool) => tool.function);
  }

  /** Whether all of the tools are Parley's own. */
  get isBuiltin(): boolean {
    return [...this.#tools.values()].every(({ kind }) => kind === "builtin");
  }

  /** Whether the model may call tools again after `rounds` rounds of calls. */
  canCallAgain(rounds: number): boolean {
    const { maxRounds, maxCalls } = this.#deps.limits;
    return this.#tools.size > 0 && rounds < maxRounds && this.#calls < maxCalls;
  }

  /** Calls a tool. If the call fails, the result is an error text for the model. Throws only the signal's reason. */
  async call(request: ToolRequest, signal: AbortSignal): Promise<ToolResult> {
    const { now, onCall } = this.#deps;
    const startedAtMs = now();
    const tool = this.#tools.get(request.name);
    const span = openSpan(`execute_tool ${tool?.function.name ?? "unknown"}`, {
      kind: "client",
      attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool?.function.name },
    });
    const args = parseArguments(request.arguments);
    let status: ToolUse["status"] = "ok";
    let result: string;
    let detail = "";
    try {
      result = await this.#run(tool, args, signal);
    } catch (error) {
      if (signal.aborted) span?.end("cancelled");
      signal.throwIfAborted();
      const failure = toToolFailure(error);
      ({ status, detail } = failure);
      result = `Error: ${failure.message}`;
    }
    const latencyMs = Math.round(now() - startedAtMs);
    const name = replaceUnstorable(request.name);
    const use = { name, arguments: JSON.stringify(args instanceof ToolFailure ? {} : args), status, latencyMs };
    span?.end(status === "ok" ? undefined : status);
    onCall(tool?.kind ?? "none", use, detail);
    return { request, result: replaceUnstorable(result), use };
  }

  async close(): Promise<void> {
    await this.#deps.close();
  }

  async #run(tool: CallableTool | undefined, args: Record<string, unknown> | ToolFailure, signal: AbortSignal) {
    const { maxCalls, timeoutMs } = this.#deps.limits;
    if (++this.#calls > maxCalls) throw new ToolFailure("over_limit", "no more tools may be called for this reply");
    if (tool === undefined) throw new ToolFailure("unknown_tool", "there is no tool of this name");
    if (args instanceof ToolFailure) throw args;
    const problem = tool.findProblem(args);
    if (problem !== undefined) throw new ToolFailure("invalid_arguments", problem);
    return runWithTimeout(timeoutMs, (deadline) => tool.call(args, AbortSignal.any([signal, deadline])));
  }
}

/** Returns a failure if the text is not a JSON object or exceeds a limit. Models often send an empty text for a call without arguments. */
function parseArguments(text: string): Record<string, unknown> | ToolFailure {
  const refuse = (problem: string) => new ToolFailure("invalid_arguments", `the arguments ${problem}`);
  if (text.trim() === "") return {};
  if (text.length > MAX_ARGUMENTS_CHARACTERS) return refuse(`have more than ${MAX_ARGUMENTS_CHARACTERS} characters`);
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return refuse("are not a JSON object");
    if (isDeeperThan(value, MAX_ARGUMENTS_DEPTH))
      return refuse(`have more than ${MAX_ARGUMENTS_DEPTH} levels of objects and arrays`);
    const inexact = findInexactNumber(text);
    return inexact === undefined ? { ...value } : refuse(`contain a number with too many digits: ${inexact}`);
  } catch {
    return refuse("are not a JSON object");
  }
}

/**
 * Returns the first number in a JSON text that would change when it is parsed: too large a number becomes infinite and is sent as null, and the
 * last digits of a long id become zeros, so that the tool would get the id of something else.
 */
function findInexactNumber(json: string): string | undefined {
  let found: string | undefined;
  JSON.parse(json, (_, value: unknown, { source = "" }: { source?: string } = {}) => {
    if (typeof value === "number" && !isExact(value, source)) found ??= cutText(source, MAX_NUMBER_CHARACTERS);
    return value;
  });
  return found;
}

function isExact(value: number, source: string): boolean {
  if (Number.isSafeInteger(value)) return true;
  return Number.isFinite(value) && (!/^-?\d+$/.test(source) || BigInt(source) === BigInt(value));
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return levels === 0 || Object.values(value).some((each) => isDeeperThan(each, levels - 1));
}
