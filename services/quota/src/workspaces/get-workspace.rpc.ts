import type { MessageInitShape } from "@bufbuild/protobuf";
import type { GetWorkspaceRequest, GetWorkspaceResponseSchema, WorkspaceSchema } from "@parley/rpc/quota";
import { type Database, isWorkspaceId, notFound } from "@parley/service-kit";
import { findWorkspace, type Workspace } from "./workspaces.store.ts";

export async function handleGetWorkspace(
  database: Database,
  request: GetWorkspaceRequest,
): Promise<MessageInitShape<typeof GetWorkspaceResponseSchema>> {
  return { workspace: await requireWorkspace(database, request.workspaceId) };
}

/** A workspace as it travels; throws workspace_not_found when there is none of this id. */
export async function requireWorkspace(
  database: Database,
  workspaceId: string,
): Promise<MessageInitShape<typeof WorkspaceSchema>> {
  const found = isWorkspaceId(workspaceId) ? await findWorkspace(database, workspaceId) : undefined;
  if (found === undefined) throw notFound("workspace_not_found", "no such workspace");
  return toMessage(found);
}

/** A stored workspace as it travels. */
export function toMessage(workspace: Workspace): MessageInitShape<typeof WorkspaceSchema> {
  return { ...workspace, createdAt: workspace.createdAt.toISOString() };
}
