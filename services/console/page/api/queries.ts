import { BotAdminService } from "@parley/rpc/conversation";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { bots, keys, moderation, tools } from "./clients.ts";
import { useMayCall, useSession } from "./session.ts";

export const botsQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ["bots", workspaceId],
    queryFn: async () => (await bots.listBots({ workspaceId })).bots,
  });

/** The models that the workspace's plan permits. "<provider>:*" permits every model of the provider. */
export const modelsQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ["models", workspaceId],
    queryFn: async () => (await bots.listModels({ workspaceId })).models,
  });

export const keysQuery = (workspaceId: string) =>
  queryOptions({
    queryKey: ["keys", workspaceId],
    queryFn: async () => (await keys.listKeys({ workspaceId })).keys,
  });

export const patternsQuery = (workspaceId: string, botSlug: string) =>
  queryOptions({
    queryKey: ["patterns", workspaceId, botSlug],
    queryFn: async () => (await moderation.listPatterns({ workspaceId, botSlug })).patterns,
    enabled: botSlug !== "",
  });

export const toolsQuery = (workspaceId: string, botSlug: string) =>
  queryOptions({
    queryKey: ["tools", workspaceId, botSlug],
    queryFn: () => tools.listTools({ workspaceId, botSlug }),
    enabled: botSlug !== "",
  });

/** What the tools offer to a model. May take seconds, because llm-proxy connects to the MCP servers. */
export const toolChecksQuery = (workspaceId: string, botSlug: string) =>
  queryOptions({
    queryKey: ["tool-checks", workspaceId, botSlug],
    queryFn: async () => (await tools.checkTools({ workspaceId, botSlug })).tools,
    enabled: botSlug !== "",
  });

/** Does not load the bots of a member who may not list them. */
export function useBots() {
  const { workspace_id: workspaceId } = useSession();
  return useQuery({ ...botsQuery(workspaceId), enabled: useMayCall(BotAdminService.method.listBots) });
}
