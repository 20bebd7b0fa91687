import { fromJson, type JsonValue } from "@bufbuild/protobuf";
import { type MessagePatterns, messagePatterns, type Pattern } from "@parley/bot-rules/moderation";
import { type Tool, ToolSchema } from "@parley/rpc/llm";
import { type Database, isUuid, isWorkspaceId } from "@parley/service-kit";
import { LRUCache } from "lru-cache";
import { readBotConfig, type StoredBotConfig } from "./bot-config.store.ts";

export type BotConfig = Omit<StoredBotConfig, "patterns" | "tools"> & {
  /** Those that are tried on the visitor's message. */
  messagePatterns: MessagePatterns;
  /** Those that are tried on the reply, each with the fallback that is shown. */
  replyPatterns: readonly Pattern[];
  tools: readonly Tool[];
};

/** Looks up a bot; undefined when the workspace has none of this id. */
export type BotConfigs = (workspaceId: string, botId: string) => Promise<BotConfig | undefined>;

/** Changes are in force everywhere within 5 s, so nothing is kept longer than this after it was asked for. */
const MAX_AGE_MS = 4_000;
const MAX_BOTS = 5_000;

/** The bots' configuration, read from the database at most every 4 s a bot, one read at a time. */
export function cachedBotConfigs(database: Database): BotConfigs {
  const configs = new LRUCache<string, BotConfig>({
    max: MAX_BOTS,
    ttl: MAX_AGE_MS,
    fetchMethod: async (key, _stale, { options }) => {
      const asked = performance.now();
      const [workspaceId = "", botId = ""] = key.split("/");
      const stored = await readBotConfig(database, workspaceId, botId);
      options.ttl = Math.max(1, MAX_AGE_MS - (performance.now() - asked));
      if (stored === undefined) return undefined;
      return {
        ...stored,
        messagePatterns: messagePatterns(stored.patterns.filter(({ appliesTo }) => appliesTo !== "reply")),
        replyPatterns: stored.patterns
          .filter(({ appliesTo }) => appliesTo !== "message")
          .map((pattern) => ({ ...pattern, fallback: pattern.fallback || stored.fallback })),
        tools: stored.tools.map((definition) => fromJson(ToolSchema, definition as JsonValue)),
      };
    },
  });
  return async (workspaceId, botId) => {
    if (!isWorkspaceId(workspaceId) || !isUuid(botId)) return undefined;
    return configs.fetch(`${workspaceId}/${botId.toLowerCase()}`);
  };
}
