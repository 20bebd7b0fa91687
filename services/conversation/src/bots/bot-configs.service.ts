import { type MessagePatterns, type Pattern, prepareMessagePatterns } from "@parley/bot-rules/moderation";
import type { Tool } from "@parley/rpc/llm";
import { type Database, isUuid, isWorkspaceId } from "@parley/service-kit";
import { LRUCache } from "lru-cache";
import { type PreparedQuestion, prepareQuestions } from "../answers/index.ts";
import { parseDefinition } from "../bot-rules/index.ts";
import { readBotConfig, type StoredBotConfig } from "./bot-config.store.ts";

export type BotConfig = Omit<StoredBotConfig, "patterns" | "tools" | "answers"> & {
  messagePatterns: MessagePatterns;
  /** If `fallback` is empty, the bot's fallback applies. */
  replyPatterns: readonly Pattern[];
  tools: readonly Tool[];
  answers: readonly PreparedQuestion[];
};

/** Returns a bot's configuration; undefined if the workspace has no bot with this id. */
export type GetBotConfig = (workspaceId: string, botId: string) => Promise<BotConfig | undefined>;

/** Less than the 5 s within which a change must apply in every replica. The age of a config counts from the start of its read. */
const MAX_AGE_MS = 4_000;
const MAX_CACHED_BOTS = 5_000;

/** Concurrent calls for a bot share one read. */
export function createBotConfigCache(database: Database): GetBotConfig {
  const configs = new LRUCache<string, BotConfig>({
    max: MAX_CACHED_BOTS,
    ttl: MAX_AGE_MS,
    fetchMethod: async (key, _stale, { options }) => {
      const startedAt = performance.now();
      const [workspaceId = "", botId = ""] = key.split("/");
      const stored = await readBotConfig(database, workspaceId, botId);
      options.ttl = Math.max(1, MAX_AGE_MS - (performance.now() - startedAt));
      if (stored === undefined) return undefined;
      return {
        ...stored,
        messagePatterns: prepareMessagePatterns(stored.patterns.filter(({ appliesTo }) => appliesTo !== "reply")),
        replyPatterns: stored.patterns.filter(({ appliesTo }) => appliesTo !== "message"),
        tools: stored.tools.map(parseDefinition),
        answers: prepareQuestions(stored.answers),
      };
    },
  });
  return async (workspaceId, botId) => {
    if (!isWorkspaceId(workspaceId) || !isUuid(botId)) return undefined;
    return configs.fetch(`${workspaceId}/${botId.toLowerCase()}`);
  };
}
