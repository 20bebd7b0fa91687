import { type Database, isSlug, isWorkspaceId, notFound } from "@parley/service-kit";
import { findBotId } from "./bots.store.ts";

/** Returns the id of a bot. Throws bot_not_found if the workspace has no bot with this slug. */
export async function requireBotId(
  database: Database,
  { workspaceId, botSlug }: { workspaceId: string; botSlug: string },
): Promise<string> {
  const couldExist = isWorkspaceId(workspaceId) && isSlug(botSlug);
  const botId = couldExist ? await findBotId(database, workspaceId, botSlug) : undefined;
  if (botId === undefined) throw botNotFound();
  return botId;
}

export function botNotFound() {
  return notFound("bot_not_found", "no such bot");
}
