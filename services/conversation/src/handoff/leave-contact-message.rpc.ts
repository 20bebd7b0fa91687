import type { MessageInitShape } from "@bufbuild/protobuf";
import type { LeaveContactMessageRequest, LeaveContactMessageResponseSchema } from "@parley/rpc/conversation";
import { ServiceError } from "@parley/service-kit";
import { botNotFound } from "../bots/index.ts";
import { sessionNotFound } from "../sessions/index.ts";
import { leaveContactMessage } from "./contact-messages.store.ts";
import { toHandoffMessage } from "./handoff-state.store.ts";
import { handoffOff, type RequestDeps, requireVisitorsHandoff } from "./request-handoff.service.ts";

/** Stores what a visitor leaves for the team, and returns the state of the session. */
export async function handleLeaveContactMessage(
  deps: RequestDeps,
  request: LeaveContactMessageRequest,
): Promise<MessageInitShape<typeof LeaveContactMessageResponseSchema>> {
  const { database, botConfigs, metrics } = deps;
  const bot = await botConfigs(request.workspaceId, request.botId);
  if (bot === undefined) throw botNotFound();
  await requireVisitorsHandoff(deps, request);
  if (!bot.handoffEnabled) throw handoffOff();
  const left = await leaveContactMessage(database, request);
  // Deleted or erased since.
  if (left === undefined) throw sessionNotFound();
  if (left.result === "limit_reached")
    throw new ServiceError("failed_precondition", "contact_limit_reached", "the session has too many contact messages");
  if (left.result === "stored") metrics.count("contact");
  return { handoff: toHandoffMessage(left.handoff) };
}
