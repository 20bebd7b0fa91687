import { MCP_TOOL_NAME_SEPARATOR } from "@parley/bot-rules/tools";
import type { McpServer, Tool } from "@parley/rpc/llm";
import type { Egress, Lifecycle, Logger } from "@parley/service-kit";
import { createGuardedAgent } from "@parley/service-kit/egress";
import { LRUCache } from "lru-cache";
import type { Metrics } from "../metrics.ts";
import type { Settings } from "../settings/index.ts";
import { toToolFailure } from "./failures.ts";
import { createHttpTool } from "./http-tool.client.ts";
import { type McpDeps, McpSession, type McpToolDescription } from "./mcp-session.client.ts";
import { McpToolListCache } from "./mcp-tool-list-cache.client.ts";
import { findCredentials } from "./secrets.ts";
import type { CallableTool, ToolStatus, ToolUse } from "./tool-call.ts";
import { Toolbox, type ToolKind } from "./toolbox.ts";

export type ToolsDeps = {
  egress: Egress;
  settings: () => Settings;
  metrics: Pick<Metrics, "toolCalls" | "toolDuration">;
  log: Logger;
  now: () => number;
};

/** The turn that the tools are for. */
export type ToolTurn = { workspaceId: string; turnId: string };

/** The functions that one of a bot's tools offers to the model. Those of an MCP server share a session. */
type OpenedTool = { functions: CallableTool[]; session?: McpSession };

const MAX_FUNCTIONS = 64;
/** The same omission of functions is logged at most once in this time. */
const OMISSION_LOG_INTERVAL_MS = 3_600_000;
const MAX_REPORTED_OMISSIONS = 1_000;
const MAX_LOGGED_FUNCTIONS = 10;
const MAX_NAME_CHARACTERS = 64;
const MAX_DESCRIPTION_CHARACTERS = 2_000;
const MAX_SCHEMA_CHARACTERS = 16 * 1024;

/** Opens the tools of bots. Each tool is an HTTP request or an MCP server. */
export class ToolboxFactory {
  readonly #deps: ToolsDeps;
  readonly #mcp: McpDeps;
  readonly #toolLists: McpToolListCache;
  readonly #reportedOmissions = new LRUCache<string, true>({
    max: MAX_REPORTED_OMISSIONS,
    ttl: OMISSION_LOG_INTERVAL_MS,
  });

  constructor(deps: ToolsDeps, lifecycle: Lifecycle) {
    this.#deps = deps;
    const dispatcher = createGuardedAgent(deps.egress);
    lifecycle.onClose("tools", () => dispatcher.destroy());
    this.#mcp = { dispatcher, limits: () => deps.settings().toolLimits };
    this.#toolLists = new McpToolListCache(this.#mcp);
  }

  /**
   * Opens the tools of a generation. The caller must close the toolbox. Logs and leaves out tools that cannot be opened, functions beyond the
   * limit, functions with a schema that is too large, and functions whose name an earlier function has.
   */
  async openToolbox(tools: readonly Tool[], turn: ToolTurn, signal: AbortSignal): Promise<Toolbox> {
    const { now, settings } = this.#deps;
    const opened = await Promise.all(tools.map((tool) => this.#open(tool, turn, signal)));
    const callable = new Map<string, CallableTool>();
    const omitted: string[] = [];
    for (const tool of opened.flatMap((each) => each.functions)) {
      const { name } = tool.function;
      if (callable.size === MAX_FUNCTIONS || callable.has(name) || hasTooLargeSchema(tool)) omitted.push(name);
      else callable.set(name, tool);
    }
    if (omitted.length > 0) this.#reportOmitted(omitted, turn);
    return new Toolbox(callable, {
      limits: settings().toolLimits,
      now,
      onCall: (kind, use, detail) => this.#report(kind, use, detail, turn),
      close: async () => void (await Promise.all(opened.map(({ session }) => session?.close()))),
    });
  }

  async #open(tool: Tool, turn: ToolTurn, signal: AbortSignal): Promise<OpenedTool> {
    const { settings, egress } = this.#deps;
    const { name, secret: secretName, kind } = tool;
    const { workspaceId } = turn;
    const onFailure = (error: unknown) => {
      const { status, detail } = toToolFailure(error);
      this.#warn(name, status, detail, turn);
    };
    const credentials = () =>
      findCredentials(settings().toolSecrets, { name: secretName, url: kind.value?.url ?? "", workspaceId });
    try {
      if (kind.case === "http") {
        const { timeoutMs, maxResultBytes } = settings().toolLimits;
        return { functions: [createHttpTool(name, kind.value, { egress, timeoutMs, maxResultBytes, credentials })] };
      }
      if (kind.case !== "mcp") return { functions: [] };
      const target = { url: kind.value.url, credentials: credentials() };
      const key = [workspaceId, secretName, target.url].join("\n");
      const offered = await this.#toolLists.list(key, { target, onFailure }, signal);
      const session = new McpSession(target, this.#mcp);
      const selected = offered.filter((each) => isSelected(each, kind.value));
      return { functions: selected.map((each) => createMcpTool(name, each, session)), session };
    } catch (error) {
      onFailure(error);
      return { functions: [] };
    }
  }

  #reportOmitted(names: readonly string[], { workspaceId }: ToolTurn): void {
    const functions = names.slice(0, MAX_LOGGED_FUNCTIONS);
    const key = [workspaceId, names.length, ...functions].join("\n");
    if (this.#reportedOmissions.has(key)) return;
    this.#reportedOmissions.set(key, true);
    const limits = { max_functions: MAX_FUNCTIONS, max_schema_characters: MAX_SCHEMA_CHARACTERS };
    this.#deps.log.warn(
      { workspace_id: workspaceId, functions, omitted: names.length, ...limits },
      "tool functions omitted",
    );
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

function hasTooLargeSchema(tool: CallableTool): boolean {
  return JSON.stringify(tool.function.parameters).length > MAX_SCHEMA_CHARACTERS;
}

/** Returns whether the bot selected an MCP server's tool. */
function isSelected({ name }: McpToolDescription, { only }: McpServer): boolean {
  return only.length === 0 || only.includes(name);
}

function createMcpTool(
  serverName: string,
  { name, description, schema }: McpToolDescription,
  session: McpSession,
): CallableTool {
  const callName = `${serverName}${MCP_TOOL_NAME_SEPARATOR}${name.replaceAll(/[^A-Za-z0-9_-]/g, "_")}`;
  return {
    kind: "mcp",
    function: {
      name: callName.slice(0, MAX_NAME_CHARACTERS),
      description: description.slice(0, MAX_DESCRIPTION_CHARACTERS).toWellFormed(),
      parameters: schema,
    },
    // The server checks the arguments itself. Its schemas are untrusted, so they are not compiled here.
    findProblem: () => undefined,
    call: (args, signal) => session.call(name, args, signal),
  };
}
