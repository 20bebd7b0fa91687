import type { Database } from "@parley/service-kit";
import { type BotConfig, type GetBotConfig, isWithinHours } from "../bots/index.ts";
import type { HandoffMetrics } from "./handoff.metrics.ts";
import { type Change, type RequestReason, requestHandoff } from "./handoff.store.ts";

export type RequestDeps = { database: Database; botConfigs: GetBotConfig; metrics: HandoffMetrics };

type Hours = Pick<BotConfig, "handoffEnabled" | "handoffHours" | "timeZone">;

/** Whether a person may be asked for now. */
export function canRequestHandoff({ handoffEnabled, handoffHours, timeZone }: Hours): boolean {
  return handoffEnabled && isWithinHours(handoffHours, timeZone, new Date());
}

type Target = { workspaceId: string; sessionId: string; botId: string };

/**
 * Asks for a person, if the bot permits it now and the session does not wait for one and has none. Returns whether the bot is within its hours, and
 * the change.
 * For the reasons `declined` and `badly_rated`, `repliesInARow` is how many replies must have caused the reason.
 */
export async function askForPerson(
  { database, metrics }: Pick<RequestDeps, "database" | "metrics">,
  bot: BotConfig,
  { workspaceId, sessionId }: Target,
  reason: RequestReason,
  repliesInARow = 0,
): Promise<{ isOpen: boolean; change: Change | undefined }> {
  const isOpen = canRequestHandoff(bot);
  if (!isOpen) {
    metrics.count("closed");
    return { isOpen, change: undefined };
  }
  const request = { workspaceId, sessionId, reason, waitSeconds: bot.handoffWaitSeconds, repliesInARow };
  const change = await requestHandoff(database, request);
  if (change !== undefined) metrics.count("requested");
  return { isOpen, change };
}

/** Asks for a person if the last replies in a row are reason enough for the bot. Returns the change. */
export async function applyRequestRule(
  { database, botConfigs, metrics }: RequestDeps,
  target: Target,
  reason: "declined" | "badly_rated",
): Promise<Change | undefined> {
  const bot = await botConfigs(target.workspaceId, target.botId);
  if (bot === undefined) return undefined;
  const repliesInARow = reason === "declined" ? bot.handoffAfterDeclined : bot.handoffAfterBadlyRated;
  if (repliesInARow === 0 || !canRequestHandoff(bot)) return undefined;
  return (await askForPerson({ database, metrics }, bot, target, reason, repliesInARow)).change;
}
