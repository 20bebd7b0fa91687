import type { MessageInitShape } from "@bufbuild/protobuf";
import type { LeaveContactMessageRequest, LeaveContactMessageResponseSchema } from "@parley/rpc/conversation";
import { ServiceError } from "@parley/service-kit";
import { botNotFound } from "../bots/index.ts";
import { hasConsent, sessionNotFound } from "../sessions/index.ts";
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
  // The session began before the bot asked for its consent, or for this version of it.
  if (bot.consentText !== "" && !(await hasConsent(database, request, bot.consentVersion)))
    throw new ServiceError(
      "failed_precondition",
      "consent_required",
      "the visitor has not agreed to the bot's consent",
    );
  const left = await leaveContactMessage(database, request);
  // Deleted or erased since.
  if (left === undefined) throw sessionNotFound();
  if (left.result === "limit_reached")
    throw new ServiceError("failed_precondition", "contact_limit_reached", "the session has too many contact messages");
  if (left.result === "daily_limit_reached")
    throw new ServiceError(
      "resource_exhausted",
      "daily_contact_limit_reached",
      "the workspace has too many contact messages of today",
    );
  if (left.result === "stored") metrics.count("contact");
  return { handoff: toHandoffMessage(left.handoff) };
}
