import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ListVisitorSessionsRequest, ListVisitorSessionsResponseSchema } from "@parley/rpc/conversation";
import type { Database } from "@parley/service-kit";
import { formatPosition, parsePosition } from "../sessions/index.ts";
import { listVisitorSessions } from "./visitor-history.store.ts";

/** Lists a verified visitor's sessions. */
export async function handleListVisitorSessions(
  database: Database,
  request: ListVisitorSessionsRequest,
): Promise<MessageInitShape<typeof ListVisitorSessionsResponseSchema>> {
  const { sessions, next } = await listVisitorSessions(database, request, parsePosition(request.pageToken));
  return { sessions, nextPageToken: next ? formatPosition(next) : "" };
}
