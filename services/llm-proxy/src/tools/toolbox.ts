import { openSpan } from "@parley/service-kit";
import type { ToolLimits } from "../settings/index.ts";
import type { CallableTool } from "./callable.ts";
import { failureOf, toToolFailure } from "./failures.ts";
import { ToolFailure, type ToolFunction, type ToolRequest, type ToolUse } from "./tool-call.ts";

/** What was called; none when there is no tool of the name. */
export type ToolKind = CallableTool["kind"] | "none";

export type ToolResult = { request: ToolRequest; result: string; use: ToolUse };

export type ToolboxDeps = {
  limits: ToolLimits;
  /** Milliseconds of a clock that never goes back. */
  now: () => number;
  /** Told how each call went, and if it failed what an operator should know of it. */
  onCall: (kind: ToolKind, use: ToolUse, detail: string) => void;
  /** Ends what the tools have opened. */
  close: () => Promise<void>;
};

const MAX_ARGUMENTS_CHARACTERS = 16 * 1024;

/** What a model may call in one reply. */
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

  /** Whether the model may call once more after so many rounds. */
  mayCall(rounds: number): boolean {
    const { maxRounds, maxCalls } = this.#deps.limits;
    return this.#tools.size > 0 && rounds < maxRounds && this.#calls < maxCalls;
  }

  /** Makes a call and tells how it went; whatever goes wrong with it is a result for the model. Throws only the signal's reason. */
  async call(request: ToolRequest, signal: AbortSignal): Promise<ToolResult> {
    const { now, onCall } = this.#deps;
    const startedAtMs = now();
    const tool = this.#tools.get(request.name);
    const span = openSpan(`execute_tool ${tool?.function.name ?? "unknown"}`, {
      kind: "client",
      attributes: { "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool?.function.name },
    });
    const values = readArguments(request.arguments);
    const use: ToolUse = {
      name: mend(request.name),
      arguments: JSON.stringify(values ?? {}),
      status: "ok",
      latencyMs: 0,
    };
    let result: string;
    let detail = "";
    try {
      result = mend(await this.#run(tool, values, signal));
    } catch (error) {
      if (signal.aborted) span?.end("cancelled");
      signal.throwIfAborted();
      const failure = toToolFailure(error);
      use.status = failure.status;
      detail = failure.detail;
      result = mend(`Error: ${failure.message}`);
    }
    use.latencyMs = Math.round(now() - startedAtMs);
    span?.end(use.status === "ok" ? undefined : use.status);
    onCall(tool?.kind ?? "none", use, detail);
    return { request, result, use };
  }

  async close(): Promise<void> {
    await this.#deps.close();
  }

  async #run(tool: CallableTool | undefined, values: Record<string, unknown> | undefined, signal: AbortSignal) {
    const { maxCalls, timeoutMs } = this.#deps.limits;
    if (++this.#calls > maxCalls) throw new ToolFailure("over_limit", "no more tools may be called for this answer");
    if (tool === undefined) throw new ToolFailure("unknown_tool", "there is no tool of this name");
    if (values === undefined) throw new ToolFailure("invalid_arguments", "the arguments are no JSON object");
    const problem = tool.problemWith(values);
    if (problem !== undefined) throw new ToolFailure("invalid_arguments", problem);
    const deadline = AbortSignal.timeout(timeoutMs);
    try {
      return await tool.call(values, { signal: AbortSignal.any([signal, deadline]) });
    } catch (error) {
      if (deadline.aborted && !(error instanceof ToolFailure)) throw failureOf("timeout", "");
      throw error;
    }
  }
}

/** A JSON object; undefined for anything else. A model without anything to say often writes nothing at all. */
function readArguments(text: string): Record<string, unknown> | undefined {
  if (text.trim() === "") return {};
  if (text.length > MAX_ARGUMENTS_CHARACTERS) return undefined;
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function mend(text: string): string {
  return text.toWellFormed().replaceAll("\0", "\uFFFD");
}
