import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RateMessageRequest, RateMessageResponseSchema } from "@parley/rpc/conversation";
import { type Database, invalidArgument, isUuid, isWorkspaceId, notFound } from "@parley/service-kit";
import { rateMessage } from "./messages.store.ts";

export async function handleRateMessage(
  database: Database,
  request: RateMessageRequest,
): Promise<MessageInitShape<typeof RateMessageResponseSchema>> {
  const { workspaceId, botId, sessionId, messageId, rating, reason } = request;
  if (reason !== "" && rating === "") throw invalidArgument("reason must be empty without a rating");
  const couldExist = isWorkspaceId(workspaceId) && isUuid(botId) && isUuid(sessionId);
  const isRated =
    couldExist &&
    (await rateMessage(database, { workspaceId, botId, sessionId, messageId: String(messageId), rating, reason }));
  if (!isRated) throw notFound("message_not_found", "no such message");
  return {};
}
