import type { ServiceImpl } from "@connectrpc/connect";
import { PatternRefused, type PatternThreadPool } from "@parley/bot-rules/moderation";
import type { ModerationAdminService } from "@parley/rpc/conversation";
import { type Database, invalid, notFound, ServiceError } from "@parley/service-kit";
import { requireBotId } from "../bots/index.ts";
import { isLongerThan } from "../text.ts";
import { type AppliesTo, deletePattern, insertPattern, listPatterns, type StoredPattern } from "./moderation.store.ts";

const MAX_PATTERNS = 100;
const DEFAULT_REASON = "blocked_pattern";

/** Implements the admin service of moderation patterns. */
export function moderationAdmin(
  database: Database,
  patternThreads: Pick<PatternThreadPool, "check">,
): ServiceImpl<typeof ModerationAdminService> {
  return {
    async addPattern(request) {
      const { workspaceId, pattern, fallback, reason } = request;
      const appliesTo = requireAppliesTo(request.appliesTo);
      if (pattern === "") throw invalid("pattern must not be empty");
      requireText("pattern", pattern, 1_000);
      requireText("fallback", fallback, 2_000);
      requireText("reason", reason, 100);
      const botId = await requireBotId(database, request);
      const others = (await listPatterns(database, workspaceId, botId)).map((each) => each.pattern);
      await patternThreads
        .check(workspaceId, { pattern, isForReplies: appliesTo !== "message", others })
        .catch(rethrow);
      const stored = await insertPattern(
        database,
        { workspaceId, botId },
        { pattern, fallback, reason: reason || DEFAULT_REASON, appliesTo },
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

const APPLIES_TO: readonly AppliesTo[] = ["message", "reply", "both"];

function requireAppliesTo(text: string): AppliesTo {
  const appliesTo = APPLIES_TO.find((each) => each === (text || "message"));
  if (appliesTo === undefined) throw invalid(`applies_to must be one of ${APPLIES_TO.join(", ")}`);
  return appliesTo;
}

function rethrow(error: unknown): never {
  if (!(error instanceof PatternRefused)) throw error;
  const { code, message } = error;
  throw new ServiceError(code === "patterns_too_large" ? "resource_exhausted" : "invalid_argument", code, message);
}

function requireText(name: string, text: string, limit: number): void {
  if (isLongerThan(text, limit) || text.includes("\0"))
    throw invalid(`${name} must have at most ${limit} characters, and no NUL`);
}

function toMessage(pattern: StoredPattern) {
  return { ...pattern, id: BigInt(pattern.id) };
}
