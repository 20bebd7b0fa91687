import { BotAdminService } from "@parley/rpc/conversation";
import type { CallAdmin } from "./call.ts";

/**
 * Throws AdminError if the workspace does not exist or is deleted. Call it before reporting an empty list, because the services return an empty
 * list for an unknown workspace too. Calls ListModels, which needs the same service and role as the lists and fails for such a workspace.
 */
export async function requireWorkspace(callAdmin: CallAdmin, workspaceId: string): Promise<void> {
  await callAdmin(BotAdminService, (service) => service.listModels({ workspaceId }));
}
