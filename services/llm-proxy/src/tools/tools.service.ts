import { SchemaError } from "@parley/bot-rules/tools";
import type { Tool } from "@parley/rpc/llm";
import { type Egress, EgressPolicy, type Lifecycle, type Logger } from "@parley/service-kit";
import { createGuardedAgent } from "@parley/service-kit/egress";
import { LRUCache } from "lru-cache";
import type { Metrics } from "../metrics.ts";
import type { Settings } from "../settings/index.ts";
import { toToolFailure } from "./failures.ts";
import { toFunctionNames } from "./function-names.ts";
import { createHttpTool } from "./http-tool.client.ts";
import { type McpDeps, McpSession } from "./mcp-session.client.ts";
import { type McpTool, type OmittedFunction, omit } from "./mcp-tool-list.ts";
import { McpToolListCache } from "./mcp-tool-list-cache.client.ts";
import { requestHumanTool } from "./request-human.ts";
import { findCredentials } from "./secrets.ts";
import type { CallableTool, ToolFailure, ToolFunction, ToolStatus, ToolUse } from "./tool-call.ts";
import { createArgumentCheck, toToolFunction } from "./tool-function.ts";
import { Toolbox, type ToolKind } from "./toolbox.ts";

export type ToolsDeps = {
  egress: Egress;
  settings: () => Settings;
  metrics: Pick<Metrics, "toolCalls" | "toolDuration">;
  log: Logger;
  now: () => number;
};

/** The turn that the tools are for. `turnId` is empty for a description of tools. */
export type ToolTurn = {
  workspaceId: string;
  turnId: string;
  /** Whether the model may ask for a person. A tool of the bot with the same name is replaced. */
  canRequestHuman?: boolean;
};

/** The functions that one of a bot's tools offers to the model. Those of an MCP server share a session. */
type OpenedTool = {
  /** The bot's name for the tool. */
  name: string;
  functions: readonly CallableTool[];
  omitted: readonly OmittedFunction[];
  /** Why the tool cannot be used, or why its list of functions is old. */
  failure?: string;
  session?: McpSession;
};

/** What a bot's tool offers to a model, for the bot's owner. */
export type ToolDescription = Pick<OpenedTool, "name" | "omitted"> & { functions: readonly string[]; failure: string };

/** EGRESS_ALLOW is for the operator's tools: an owner must not reach the operator's networks. */
const PUBLIC_ONLY = new EgressPolicy();
const MAX_FUNCTIONS = 64;
/** Limit for the names, descriptions and schemas of all functions. They are part of every prompt, and a prompt above the model's window fails. */
const MAX_FUNCTIONS_CHARACTERS = 128 * 1024;
/** The same omission of functions is logged at most once in this time. */
const OMISSION_LOG_INTERVAL_MS = 3_600_000;
const MAX_REPORTED_OMISSIONS = 1_000;
const MAX_LOGGED_FUNCTIONS = 10;
/** Connections of this process to one MCP server. */
const MAX_CONNECTIONS_PER_HOST = 32;

/** Opens the tools of bots. Each tool is an HTTP request or an MCP server. */
export class ToolboxFactory {
  readonly #deps: ToolsDeps;
  readonly #mcp: McpDeps;
  readonly #toolLists: McpToolListCache;
  /** Toolboxes that are ending their sessions. */
  readonly #closing = new Set<Promise<unknown>>();
  readonly #reportedOmissions = new LRUCache<string, true>({
    max: MAX_REPORTED_OMISSIONS,
    ttl: OMISSION_LOG_INTERVAL_MS,
  });

  constructor(deps: ToolsDeps, lifecycle: Lifecycle) {
    this.#deps = deps;
    const dispatcher = createGuardedAgent(deps.egress, { maxConnectionsPerHost: MAX_CONNECTIONS_PER_HOST });
    lifecycle.onClose("tools", async () => {
      await Promise.all(this.#closing);
      await dispatcher.destroy();
    });
    this.#mcp = { dispatcher, limits: () => deps.settings().toolLimits };
    this.#toolLists = new McpToolListCache(this.#mcp);
  }

  /**
   * Opens the tools of a generation. The caller must close the toolbox. Logs and leaves out tools that cannot be opened and functions that
   * cannot be offered.
   */
  async openToolbox(tools: readonly Tool[], turn: ToolTurn, signal: AbortSignal): Promise<Toolbox> {
    const { now, settings } = this.#deps;
    const opened = await this.#openAll(tools, turn, signal);
    const builtin = turn.canRequestHuman ? [requestHumanTool] : [];
    const omitted = opened.flatMap((each) => each.omitted);
    if (omitted.length > 0) this.#reportOmitted(omitted, turn);
    return new Toolbox(
      new Map([...opened.flatMap(({ functions }) => functions), ...builtin].map((each) => [each.function.name, each])),
      {
        limits: settings().toolLimits,
        now,
        onCall: (kind, use, detail) => this.#report(kind, use, detail, turn),
        close: () => this.#closeAll(opened),
      },
    );
  }

  /** Returns what each of a bot's tools offers to a model. */
  async describeTools(tools: readonly Tool[], turn: ToolTurn, signal: AbortSignal): Promise<ToolDescription[]> {
    const opened = await this.#openAll(tools, turn, signal);
    await this.#closeAll(opened);
    return opened.map(({ name, functions, omitted, failure = "" }) => ({
      name,
      functions: functions.map((each) => each.function.name),
      omitted,
      failure,
    }));
  }

  /** Opens the tools, with at most MAX_FUNCTIONS functions of MAX_FUNCTIONS_CHARACTERS in all. */
  async #openAll(tools: readonly Tool[], turn: ToolTurn, signal: AbortSignal): Promise<OpenedTool[]> {
    const opened = await Promise.all(tools.map((tool) => this.#open(tool, turn, signal)));
    const names = new Set<string>();
    let characters = 0;
    /** Returns why a function is left out; undefined if it is offered. */
    const admit = (offered: ToolFunction): string | undefined => {
      if (names.has(offered.name)) return "another function has this name";
      if (names.size === MAX_FUNCTIONS) return `a bot offers at most ${MAX_FUNCTIONS} functions`;
      const size = JSON.stringify(offered).length;
      if (characters + size > MAX_FUNCTIONS_CHARACTERS)
        return `the bot's functions together have more than ${MAX_FUNCTIONS_CHARACTERS} characters`;
      names.add(offered.name);
      characters += size;
      return undefined;
    };
    return opened.map((tool) => {
      const functions: CallableTool[] = [];
      const omitted = [...tool.omitted];
      for (const each of tool.functions) {
        const reason = admit(each.function);
        if (reason === undefined) functions.push(each);
        else omitted.push(omit(each.function.name, reason));
      }
      return { ...tool, functions, omitted };
    });
  }

  async #closeAll(opened: readonly OpenedTool[]): Promise<void> {
    const closing = Promise.all(opened.map(({ session }) => session?.close()));
    this.#closing.add(closing);
    await closing.finally(() => this.#closing.delete(closing));
  }

  async #open(tool: Tool, turn: ToolTurn, signal: AbortSignal): Promise<OpenedTool> {
    const { settings, egress } = this.#deps;
    const { name, secret: secretName, kind, byOwner } = tool;
    const { workspaceId } = turn;
    const onFailure = ({ status, detail }: ToolFailure) => this.#warn(name, status, detail, turn);
    const credentials = () =>
      findCredentials(settings().toolSecrets, { name: secretName, url: kind.value?.url ?? "", workspaceId });
    try {
      if (kind.case === "http") {
        const { timeoutMs, maxResultBytes } = settings().toolLimits;
        const toolEgress = byOwner ? { ...egress, policy: PUBLIC_ONLY } : egress;
        const httpTool = createHttpTool(name, kind.value, {
          egress: toolEgress,
          timeoutMs,
          maxResultBytes,
          credentials,
        });
        return { name, functions: [httpTool], omitted: [] };
      }
      if (kind.case !== "mcp") return { name, functions: [], omitted: [] };
      const { url, only } = kind.value;
      const target = { url, credentials: credentials() };
      const key = [workspaceId, secretName, url].join("\n");
      const list = await this.#toolLists.list(key, { target, onFailure }, signal);
      const session = new McpSession(target, this.#mcp);
      const isSelected = (each: { name: string }) => only.length === 0 || only.includes(each.name);
      const functionNames = toFunctionNames(
        name,
        list.tools.map((each) => each.name),
      );
      return {
        name,
        functions: list.tools
          .filter(isSelected)
          .map((each) => createMcpTool(functionNames.get(each.name) ?? "", each, session)),
        omitted: list.omitted.filter(isSelected),
        ...(list.failure && { failure: toReason(list.failure) }),
        session,
      };
    } catch (error) {
      if (error instanceof SchemaError) return { name, functions: [], omitted: [omit(name, error.message)] };
      const failure = toToolFailure(error);
      onFailure(failure);
      return { name, functions: [], omitted: [], failure: toReason(failure) };
    }
  }

  #reportOmitted(omitted: readonly OmittedFunction[], { workspaceId }: ToolTurn): void {
    const functions = omitted.slice(0, MAX_LOGGED_FUNCTIONS);
    const key = JSON.stringify([workspaceId, omitted.length, functions]);
    if (this.#reportedOmissions.has(key)) return;
    this.#reportedOmissions.set(key, true);
    this.#deps.log.warn({ workspace_id: workspaceId, functions, omitted: omitted.length }, "tool functions omitted");
  }

  #report(kind: ToolKind, use: ToolUse, detail: string, turn: ToolTurn): void {
    const { metrics } = this.#deps;
    metrics.toolCalls.inc({ kind, status: use.status });
    metrics.toolDuration.observe({ kind }, use.latencyMs / 1_000);
    // The name of an unknown tool is the model's output, which must not reach the log.
    if (use.status !== "ok") this.#warn(kind === "none" ? "" : use.name, use.status, detail, turn);
  }

  #warn(tool: string, status: ToolStatus, detail: string, { turnId, workspaceId }: ToolTurn): void {
    this.#deps.log.warn({ turn_id: turnId, workspace_id: workspaceId, tool, status, detail }, "tool failed");
  }
}

function createMcpTool(
  functionName: string,
  { name, description, parameters }: McpTool,
  session: McpSession,
): CallableTool {
  return {
    kind: "mcp",
    function: toToolFunction(functionName, description, parameters),
    findProblem: createArgumentCheck(parameters),
    call: (args, signal) => session.call(name, args, signal),
  };
}

/** Returns a failure's text for the tool's owner. Like the message, it does not reveal why a host cannot be reached. */
function toReason({ status, message, detail }: ToolFailure): string {
  return status === "not_allowed" && detail !== "" ? `${message} (${detail})` : message;
}
