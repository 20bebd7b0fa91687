import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RequestHandoffRequest, RequestHandoffResponseSchema } from "@parley/rpc/conversation";
import { ServiceError } from "@parley/service-kit";
import { botNotFound } from "../bots/index.ts";
import { refuseVisitorMismatch, type SessionRequest, sessionNotFound } from "../sessions/index.ts";
import { readVisitorsHandoff } from "./handoff.store.ts";
import { type StoredHandoff, toHandoffMessage } from "./handoff-state.store.ts";
import { askForPerson, type RequestDeps } from "./request-handoff.service.ts";

/** Asks for a person on behalf of a visitor, and returns the resulting state. */
export async function handleRequestHandoff(
  deps: RequestDeps,
  request: RequestHandoffRequest,
): Promise<MessageInitShape<typeof RequestHandoffResponseSchema>> {
  const { database, botConfigs } = deps;
  const bot = await botConfigs(request.workspaceId, request.botId);
  if (bot === undefined) throw botNotFound();
  const before = await requireVisitorsHandoff(deps, request);
  if (before.state !== "bot") return { handoff: toHandoffMessage(before) };
  if (!bot.handoffEnabled) throw new ServiceError("failed_precondition", "handoff_off", "the bot has no handoff");
  const { isOpen } = await askForPerson(deps, bot, request, "visitor");
  if (!isOpen) return { handoff: { ...toHandoffMessage(before), reason: "closed" } };
  return { handoff: toHandoffMessage((await readVisitorsHandoff(database, request)) ?? before) };
}

/** Returns the state of a visitor's session. Throws session_not_found or visitor_mismatch if the visitor may not use it. */
async function requireVisitorsHandoff(
  { database }: Pick<RequestDeps, "database">,
  session: SessionRequest,
): Promise<StoredHandoff> {
  const handoff = await readVisitorsHandoff(database, session);
  if (handoff !== undefined) return handoff;
  await refuseVisitorMismatch(database, session);
  throw sessionNotFound();
}
