import { BotAdminService } from "@parley/rpc/conversation";
import type { CallAdmin } from "./call.ts";

/**
 * Throws AdminError if the workspace does not exist or is deleted. Call it before reporting an empty list: the services return an empty list
 * for an unknown workspace too. Uses ListModels, which fails for an unknown workspace and which every caller who may read a workspace's lists may
 * call.
 */
export async function requireWorkspace(callAdmin: CallAdmin, workspaceId: string): Promise<void> {
  await callAdmin(BotAdminService, (service) => service.listModels({ workspaceId }));
}
