import { BotAdminService } from "@parley/rpc/conversation";
import { AdminError, type CallAdmin } from "./call.ts";

/**
 * Throws AdminError if the workspace does not exist or is deleted. Call it before reporting an empty list: the services return an empty list
 * for an unknown workspace too. Uses ListModels, because it fails for an unknown workspace and a viewer may call it.
 */
export async function requireWorkspace(callAdmin: CallAdmin, workspaceId: string): Promise<void> {
  try {
    await callAdmin(BotAdminService, (service) => service.listModels({ workspaceId }));
  } catch (error) {
    // An agent may not call it, and can list only the workspace of the access token.
    if (!(error instanceof AdminError) || error.code !== "forbidden") throw error;
  }
}
