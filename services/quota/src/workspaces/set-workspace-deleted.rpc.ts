import type { MessageInitShape } from "@bufbuild/protobuf";
import type { SetWorkspaceDeletedRequest, SetWorkspaceDeletedResponseSchema } from "@parley/rpc/quota";
import { type Database, isWorkspaceId, notFound } from "@parley/service-kit";
import { updateDeleted } from "./workspaces.store.ts";

export async function handleSetWorkspaceDeleted(
  database: Database,
  { workspaceId, deleted }: SetWorkspaceDeletedRequest,
): Promise<MessageInitShape<typeof SetWorkspaceDeletedResponseSchema>> {
  const isKnown = isWorkspaceId(workspaceId) && (await updateDeleted(database, workspaceId, deleted));
  if (!isKnown) throw notFound("workspace_not_found", "no such workspace");
  return {};
}
