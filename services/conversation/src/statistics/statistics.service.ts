import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  CompareWeeksRequest,
  CompareWeeksResponseSchema,
  GetStatisticsRequest,
  GetStatisticsResponseSchema,
  ListUsageByBotRequest,
  ListUsageByBotResponseSchema,
} from "@parley/rpc/conversation";
import { type Database, invalidArgument, isWorkspaceId } from "@parley/service-kit";
import { readBotUsage } from "./bot-usage.store.ts";
import { quantileMs } from "./first-token-times.ts";
import { compareWeeks, countRatedSessions, readDays, readFirstTokenHistogram } from "./statistics.store.ts";

const DEFAULT_DAYS = 30;
const MAX_DAYS = 90;
const MAX_MONTHS = 6;
const MAX_COMPARED_WORKSPACES = 1_000;

export async function readStatistics(
  database: Database,
  { workspaceId, days: requestedDays }: GetStatisticsRequest,
): Promise<MessageInitShape<typeof GetStatisticsResponseSchema>> {
  if (requestedDays < 0 || requestedDays > MAX_DAYS) throw invalidArgument(`days must be from 0 to ${MAX_DAYS}`);
  if (!isWorkspaceId(workspaceId)) return {};
  const dayCount = requestedDays || DEFAULT_DAYS;
  const days = await readDays(database, workspaceId, dayCount);
  const firstTokenHistogram = await readFirstTokenHistogram(database, workspaceId, dayCount);
  const { up, down } = await countRatedSessions(database, workspaceId, dayCount);
  return {
    days,
    firstTokenMedianMs: quantileMs(firstTokenHistogram, 0.5) ?? 0,
    firstTokenP95Ms: quantileMs(firstTokenHistogram, 0.95) ?? 0,
    sessionsRatedUp: up,
    sessionsRatedDown: down,
  };
}

export async function listUsageByBot(
  database: Database,
  { workspaceId, months }: ListUsageByBotRequest,
): Promise<MessageInitShape<typeof ListUsageByBotResponseSchema>> {
  if (months < 0 || months > MAX_MONTHS) throw invalidArgument(`months must be from 0 to ${MAX_MONTHS}`);
  return { usage: isWorkspaceId(workspaceId) ? await readBotUsage(database, workspaceId, months || MAX_MONTHS) : [] };
}

export async function compareWeeksOfWorkspaces(
  database: Database,
  { workspaceIds }: CompareWeeksRequest,
): Promise<MessageInitShape<typeof CompareWeeksResponseSchema>> {
  if (workspaceIds.length > MAX_COMPARED_WORKSPACES)
    throw invalidArgument(`workspace_ids must have at most ${MAX_COMPARED_WORKSPACES} ids`);
  return { workspaces: await compareWeeks(database, workspaceIds.filter(isWorkspaceId)) };
}
