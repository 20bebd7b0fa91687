import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RateMessageRequest, RateMessageResponseSchema } from "@parley/rpc/conversation";
import { invalidArgument, isUuid, isWorkspaceId, notFound } from "@parley/service-kit";
import { applyRequestRule, type RequestDeps } from "../handoff/index.ts";
import { rateMessage } from "./messages.store.ts";
import { refuseVisitorMismatch } from "./visitor-mismatch.service.ts";

export async function handleRateMessage(
  deps: RequestDeps,
  request: RateMessageRequest,
): Promise<MessageInitShape<typeof RateMessageResponseSchema>> {
  const { workspaceId, botId, sessionId, messageId, rating, reason } = request;
  if (reason !== "" && rating === "") throw invalidArgument("reason must be empty without a rating");
  const { database } = deps;
  const couldExist = isWorkspaceId(workspaceId) && isUuid(botId) && isUuid(sessionId);
  if (couldExist) {
    if (await rateMessage(database, { ...request, messageId: String(messageId) })) {
      if (rating === "down") await applyRequestRule(deps, request, "badly_rated");
      return {};
    }
    await refuseVisitorMismatch(database, request);
  }
  throw notFound("message_not_found", "no such message");
}
