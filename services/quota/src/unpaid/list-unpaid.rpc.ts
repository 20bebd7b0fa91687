import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ListUnpaidRequest, ListUnpaidResponseSchema } from "@parley/rpc/quota";
import { type Database, isWorkspaceId } from "@parley/service-kit";
import { listUnpaid } from "./unpaid.store.ts";

const DEFAULT_PAGE_SIZE = 500;

export async function handleListUnpaid(
  database: Database,
  { workspaceId, pageSize, afterWorkspaceId: after }: ListUnpaidRequest,
): Promise<MessageInitShape<typeof ListUnpaidResponseSchema>> {
  // No workspace can have a malformed id, so "-" selects none either.
  const selected = workspaceId === "" || isWorkspaceId(workspaceId) ? workspaceId : "-";
  return listUnpaid(database, { workspaceId: selected, after, limit: pageSize || DEFAULT_PAGE_SIZE });
}
