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

/** Throws workspace_not_found if the workspace is unknown or deleted. */
export async function requireWorkspace(
  database: Database,
  workspaceId: string,
): Promise<MessageInitShape<typeof WorkspaceSchema>> {
  const workspace = isWorkspaceId(workspaceId) ? await findWorkspace(database, workspaceId) : undefined;
  if (workspace === undefined) throw notFound("workspace_not_found", "no such workspace");
  return toWorkspaceMessage(workspace);
}

export function toWorkspaceMessage(workspace: Workspace): MessageInitShape<typeof WorkspaceSchema> {
  const { createdAt, deletedAt } = workspace;
  return { ...workspace, createdAt: createdAt.toISOString(), deletedAt: deletedAt?.toISOString() ?? "" };
}
