import type { MessageInitShape } from "@bufbuild/protobuf";
import type {
  CompareWeeksRequest,
  CompareWeeksResponseSchema,
  GetStatisticsRequest,
  GetStatisticsResponseSchema,
  ListUsageByBotRequest,
  ListUsageByBotResponseSchema,
} from "@parley/rpc/conversation";
import { type Database, isWorkspaceId, type Shard } from "@parley/service-kit";
import { readBotUsage } from "./bot-usage.store.ts";
import { quantileMs } from "./first-token-times.ts";
import { compareWeeks, countRatedSessions, readDays, readFirstTokenHistogram } from "./statistics.store.ts";

const DEFAULT_DAYS = 30;
const DEFAULT_MONTHS = 6;

export async function readStatistics(
  database: Database,
  { workspaceId, days: requestedDays }: GetStatisticsRequest,
): Promise<MessageInitShape<typeof GetStatisticsResponseSchema>> {
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
  return {
    usage: isWorkspaceId(workspaceId) ? await readBotUsage(database, workspaceId, months || DEFAULT_MONTHS) : [],
  };
}

/** The workspaces of a shard are in the order of their ids. */
export async function compareWeeksOfWorkspaces(
  shards: readonly Shard[],
  { workspaceIds }: CompareWeeksRequest,
): Promise<MessageInitShape<typeof CompareWeeksResponseSchema>> {
  const ids = workspaceIds.filter(isWorkspaceId);
  const lists = await Promise.all(shards.map(({ database }) => compareWeeks(database, ids)));
  return { workspaces: lists.flat() };
}
