import { type Database, ServiceError } from "@parley/service-kit";
import { type BotConfig, type GetBotConfig, isWithinHours } from "../bots/index.ts";
import { refuseVisitorMismatch, type SessionRequest, sessionNotFound } from "../sessions/index.ts";
import type { HandoffMetrics } from "./handoff.metrics.ts";
import { type Change, type RequestReason, readVisitorsHandoff, requestHandoff } from "./handoff.store.ts";
import type { StoredHandoff } from "./handoff-state.store.ts";

export type RequestDeps = { database: Database; botConfigs: GetBotConfig; metrics: HandoffMetrics };

type Hours = Pick<BotConfig, "handoffEnabled" | "handoffHours" | "timeZone">;

/** Whether a person may be asked for now. */
export function canRequestHandoff({ handoffEnabled, handoffHours, timeZone }: Hours): boolean {
  return handoffEnabled && isWithinHours(handoffHours, timeZone, new Date());
}

/** Returns the state of a visitor's session. Throws session_not_found or visitor_mismatch if the visitor may not use it. */
export async function requireVisitorsHandoff(
  { database }: Pick<RequestDeps, "database">,
  session: SessionRequest,
): Promise<StoredHandoff> {
  const handoff = await readVisitorsHandoff(database, session);
  if (handoff !== undefined) return handoff;
  await refuseVisitorMismatch(database, session);
  throw sessionNotFound();
}

export function handoffOff() {
  return new ServiceError("failed_precondition", "handoff_off", "the bot has no handoff");
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
