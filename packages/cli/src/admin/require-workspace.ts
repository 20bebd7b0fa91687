import { BotAdminService } from "@parley/rpc/conversation";
import type { CallAdmin } from "./call.ts";

/**
 * Throws AdminError if the workspace does not exist or is deleted. Call it before reporting an empty list: the services return one for an
 * unknown workspace too. ListModels reports the error, and is available to every caller who may read the lists.
 */
export async function requireWorkspace(callAdmin: CallAdmin, workspaceId: string): Promise<void> {
  await callAdmin(BotAdminService, (service) => service.listModels({ workspaceId }));
}
