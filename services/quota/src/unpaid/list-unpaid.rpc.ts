import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ListUnpaidRequest, ListUnpaidResponseSchema } from "@parley/rpc/quota";
import { type Database, invalidArgument, isWorkspaceId } from "@parley/service-kit";
import { listUnpaid } from "./unpaid.store.ts";

const DEFAULT_PAGE_SIZE = 500;
const MAX_PAGE_SIZE = 1_000;

export async function handleListUnpaid(
  database: Database,
  { workspaceId, pageSize, afterWorkspaceId: after }: ListUnpaidRequest,
): Promise<MessageInitShape<typeof ListUnpaidResponseSchema>> {
  if (pageSize < 0 || pageSize > MAX_PAGE_SIZE) throw invalidArgument(`page_size must be from 0 to ${MAX_PAGE_SIZE}`);
  if (after !== "" && !isWorkspaceId(after)) throw invalidArgument("after_workspace_id is not a workspace id");
  // No workspace can have a malformed id, so "-" selects none either.
  const selected = workspaceId === "" || isWorkspaceId(workspaceId) ? workspaceId : "-";
  return listUnpaid(database, { workspaceId: selected, after, limit: pageSize || DEFAULT_PAGE_SIZE });
}
