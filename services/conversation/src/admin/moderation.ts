import type { ServiceImpl } from "@connectrpc/connect";
import type { ModerationAdminService } from "@parley/rpc/conversation";
import { type Database, invalid, notFound, ServiceError } from "@parley/service-kit";
import { compilePattern } from "../domain/moderation.ts";
import { isLongerThan } from "../domain/text.ts";
import { requireBotId } from "../rpc/require-bot.ts";
import { deletePattern, insertPattern, listPatterns, type StoredPattern } from "../store/moderation.ts";

const MAX_PATTERNS = 100;
const DEFAULT_REASON = "blocked_pattern";

/** The admin service of moderation patterns. */
export function moderationAdmin(database: Database): ServiceImpl<typeof ModerationAdminService> {
  return {
    async addPattern(request) {
      const { workspaceId, pattern, fallback, reason } = request;
      requirePattern(pattern);
      requireText("fallback", fallback, 2_000);
      requireText("reason", reason, 100);
      const botId = await requireBotId(database, request);
      const stored = await insertPattern(
        database,
        { workspaceId, botId },
        { pattern, fallback, reason: reason || DEFAULT_REASON },
        MAX_PATTERNS,
      );
      if (stored === undefined)
        throw new ServiceError("resource_exhausted", "too_many_patterns", `a bot has at most ${MAX_PATTERNS} patterns`);
      return { pattern: toMessage(stored) };
    },
    async listPatterns(request) {
      const botId = await requireBotId(database, request);
      return { patterns: (await listPatterns(database, request.workspaceId, botId)).map(toMessage) };
    },
    async removePattern(request) {
      const botId = await requireBotId(database, request);
      if (!(await deletePattern(database, request.workspaceId, botId, request.id)))
        throw notFound("pattern_not_found", "the bot has no such pattern");
      return {};
    },
  };
}

function requirePattern(pattern: string): void {
  if (pattern === "") throw invalid("pattern must not be empty");
  requireText("pattern", pattern, 1_000);
  try {
    compilePattern(pattern);
  } catch (cause) {
    throw invalid(cause instanceof Error ? cause.message : "the pattern is not valid");
  }
}

function requireText(name: string, text: string, limit: number): void {
  if (isLongerThan(text, limit) || text.includes("\0"))
    throw invalid(`${name} must have at most ${limit} characters, and no NUL`);
}

function toMessage(pattern: StoredPattern) {
  return { ...pattern, id: BigInt(pattern.id) };
}
