import type { ServiceImpl } from "@connectrpc/connect";
import { requireHttpTool, requireValidNames, requireWebUrl } from "@parley/bot-rules/tools";
import type { RpcClient } from "@parley/rpc";
import type { ToolAdminService } from "@parley/rpc/conversation";
import type { LlmService, Tool } from "@parley/rpc/llm";
import type { QuotaService } from "@parley/rpc/quota";
import { adminCallerOf, type Database, invalidArgument, notFound, ServiceError } from "@parley/service-kit";
import { requireBotId } from "../bots/index.ts";
import { parseDefinition, toDefinition } from "./tool-definition.ts";
import { deleteTool, listTools, putTool } from "./tools.store.ts";

const MAX_TOOLS = 20;
/** Longer than llm-proxy waits for a tool by default. */
const DESCRIBE_TIMEOUT_MS = 30_000;
const GET_WORKSPACE_TIMEOUT_MS = 5_000;

export type ToolAdminDeps = {
  database: Database;
  llm: Pick<RpcClient<typeof LlmService>, "describeTools">;
  quota: Pick<RpcClient<typeof QuotaService>, "getWorkspace">;
  /** The plans whose owners may add HTTP tools. */
  ownerToolPlans: readonly string[];
};

export function createToolAdmin(deps: ToolAdminDeps): ServiceImpl<typeof ToolAdminService> {
  const { database, llm, quota, ownerToolPlans } = deps;

  const mayOwnersAdd = async (workspaceId: string) => {
    // Most installations have no such plan. Their lists of tools then do not depend on quota.
    if (ownerToolPlans.length === 0) return false;
    const { workspace } = await quota.getWorkspace({ workspaceId }, { timeoutMs: GET_WORKSPACE_TIMEOUT_MS });
    return ownerToolPlans.includes(workspace?.plan ?? "");
  };

  return {
    async putTool(request, context) {
      const { workspaceId } = request;
      const isOwners = adminCallerOf(context) !== "operator";
      if (isOwners && !(await mayOwnersAdd(workspaceId)))
        throw new ServiceError(
          "permission_denied",
          "tools_not_permitted",
          "the workspace's plan does not permit owners to add tools",
        );
      const tool = { ...requireTool(request.tool), byOwner: isOwners };
      if (isOwners) requireOwnersTool(tool);
      const botId = await requireBotId(database, request);
      const stored = { name: tool.name, definition: toDefinition(tool), isOwners };
      const result = await putTool(database, { workspaceId, botId }, stored, MAX_TOOLS);
      if (result === "full")
        throw new ServiceError("resource_exhausted", "too_many_tools", `a bot has at most ${MAX_TOOLS} tools`);
      if (result === "operators")
        throw new ServiceError("permission_denied", "operators_tool", "the operator has added a tool with this name");
      return { tool };
    },
    async listTools(request) {
      const { workspaceId } = request;
      const botId = await requireBotId(database, request);
      const definitions = await listTools(database, { workspaceId, botId });
      return { tools: definitions.map(parseDefinition), ownersMayAdd: await mayOwnersAdd(workspaceId) };
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

/**
 * Throws unless an owner may add the tool. Secrets belong to the operator. The list of an MCP server's tools is part of the prompt and may change
 * at any time.
 */
function requireOwnersTool({ secret, kind }: Tool): void {
  if (kind.case !== "http") throw invalidArgument("only the operator adds MCP servers");
  if (secret !== "") throw invalidArgument("only the operator adds tools with a secret");
  if (!kind.value.url.startsWith("https://")) throw invalidArgument("url must start with https://");
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
        requireWebUrl(tool.kind.value.url);
        return tool;
      default:
        throw new Error("tool must be http or mcp");
    }
  } catch (cause) {
    throw invalidArgument(cause instanceof Error ? cause.message : "the tool is not valid");
  }
}
