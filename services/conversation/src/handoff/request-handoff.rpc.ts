import type { MessageInitShape } from "@bufbuild/protobuf";
import type { RequestHandoffRequest, RequestHandoffResponseSchema } from "@parley/rpc/conversation";
import { botNotFound } from "../bots/index.ts";
import { readVisitorsHandoff } from "./handoff.store.ts";
import { toHandoffMessage } from "./handoff-state.store.ts";
import { askForPerson, handoffOff, type RequestDeps, requireVisitorsHandoff } from "./request-handoff.service.ts";

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
  if (!bot.handoffEnabled) throw handoffOff();
  const { isOpen } = await askForPerson(deps, bot, request, "visitor");
  if (!isOpen) return { handoff: { ...toHandoffMessage(before), reason: "closed" } };
  return { handoff: toHandoffMessage((await readVisitorsHandoff(database, request)) ?? before) };
}
