import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ListRetentionsRequest, ListRetentionsResponseSchema } from "@parley/rpc/quota";
import { createPageTokens, cutPage, type Database, isWorkspaceId } from "@parley/service-kit";
import { listRetentions } from "./workspaces.store.ts";

const DEFAULT_PAGE_SIZE = 500;
/** The maximum of PostgreSQL's type integer. */
const NO_LIMIT = 2 ** 31 - 1;
const pageTokens = createPageTokens({
  retentionMinutes: (text) => /^\d{1,7}$/.test(text),
  workspaceId: isWorkspaceId,
});

export async function handleListRetentions(
  database: Database,
  { minMinutes, maxMinutes, pageSize, pageToken }: ListRetentionsRequest,
): Promise<MessageInitShape<typeof ListRetentionsResponseSchema>> {
  const size = pageSize || DEFAULT_PAGE_SIZE;
  const position = pageTokens.parse(pageToken);
  const after = { workspaceId: position?.workspaceId ?? "", retentionMinutes: Number(position?.retentionMinutes ?? 0) };
  const range = { minMinutes, maxMinutes: maxMinutes || NO_LIMIT };
  const rows = await listRetentions(database, { ...range, after, limit: size + 1 });
  const { page, last } = cutPage(rows, size);
  return { workspaces: page, nextPageToken: pageTokens.format(last) };
}
