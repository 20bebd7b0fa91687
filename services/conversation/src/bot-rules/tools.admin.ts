import type { ServiceImpl } from "@connectrpc/connect";
import { requireHttpTool, requireMcpServer, requireValidNames } from "@parley/bot-rules/tools";
import type { RpcClient } from "@parley/rpc";
import type { ToolAdminService } from "@parley/rpc/conversation";
import type { LlmService, Tool } from "@parley/rpc/llm";
import { type Database, invalidArgument, notFound, ServiceError } from "@parley/service-kit";
import { requireBotId } from "../bots/index.ts";
import { parseDefinition, toDefinition } from "./tool-definition.ts";
import { deleteTool, listTools, putTool } from "./tools.store.ts";

const MAX_TOOLS = 20;
/** Longer than llm-proxy waits for a tool by default. */
const DESCRIBE_TIMEOUT_MS = 30_000;

export type ToolAdminDeps = { database: Database; llm: Pick<RpcClient<typeof LlmService>, "describeTools"> };

export function createToolAdmin({ database, llm }: ToolAdminDeps): ServiceImpl<typeof ToolAdminService> {
  return {
    async putTool(request) {
      const tool = requireTool(request.tool);
      const botId = await requireBotId(database, request);
      const definition = toDefinition(tool);
      const { workspaceId } = request;
      if (!(await putTool(database, { workspaceId, botId }, { name: tool.name, definition }, MAX_TOOLS)))
        throw new ServiceError("resource_exhausted", "too_many_tools", `a bot has at most ${MAX_TOOLS} tools`);
      return { tool };
    },
    async listTools(request) {
      const botId = await requireBotId(database, request);
      const definitions = await listTools(database, { workspaceId: request.workspaceId, botId });
      return { tools: definitions.map(parseDefinition) };
    },
    async checkTools(request, { signal }) {
      const botId = await requireBotId(database, request);
      const { workspaceId } = request;
      const tools = (await listTools(database, { workspaceId, botId })).map(parseDefinition);
      const described = await llm.describeTools({ workspaceId, tools }, { timeoutMs: DESCRIBE_TIMEOUT_MS, signal });
      return { tools: described.tools };
    },
    async removeTool(request) {
      const botId = await requireBotId(database, request);
      const { workspaceId, name } = request;
      if (name.includes("\0") || !(await deleteTool(database, { workspaceId, botId }, name)))
        throw notFound("tool_not_found", "the bot has no such tool");
      return {};
    },
  };
}

function requireTool(tool: Tool | undefined): Tool {
  if (tool === undefined) throw invalidArgument("tool is missing");
  try {
    requireValidNames(tool);
    switch (tool.kind.case) {
      case "http":
        requireHttpTool(tool.kind.value);
        return tool;
      case "mcp":
        requireMcpServer(tool.kind.value);
        return tool;
      default:
        throw new Error("tool must be http or mcp");
    }
  } catch (cause) {
    throw invalidArgument(cause instanceof Error ? cause.message : "the tool is not valid");
  }
}
