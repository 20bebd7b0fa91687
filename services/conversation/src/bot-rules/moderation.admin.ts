import type { ServiceImpl } from "@connectrpc/connect";
import { findMatchingPatterns, PatternRefusedError, type PatternThreadPool } from "@parley/bot-rules/moderation";
import type { ModerationAdminService } from "@parley/rpc/conversation";
import { type Database, invalidArgument, notFound, ServiceError } from "@parley/service-kit";
import { requireBotId } from "../bots/index.ts";
import { isLongerThan } from "../text.ts";
import { type AppliesTo, deletePattern, insertPattern, listPatterns, type StoredPattern } from "./moderation.store.ts";

const MAX_PATTERNS = 100;
const DEFAULT_REASON = "blocked_pattern";
/** As long as a visitor's message may be. */
const MAX_CHECKED_CHARACTERS = 4_000;

/** Implements the admin service of moderation patterns. */
export function createModerationAdmin(
  database: Database,
  patternThreads: Pick<PatternThreadPool, "check" | "matchAll">,
): ServiceImpl<typeof ModerationAdminService> {
  /** Throws unless the pattern may be saved beside the bot's other patterns. */
  async function requireAcceptable(
    workspaceId: string,
    { pattern, appliesTo }: Expression,
    stored: readonly StoredPattern[],
  ): Promise<void> {
    const others = stored.map((each) => each.pattern);
    await patternThreads
      .check(workspaceId, { pattern, isForReplies: appliesTo !== "message", others })
      .catch(rethrowRefusal);
  }

  return {
    async addPattern(request) {
      const { workspaceId, fallback, reason } = request;
      const { pattern, appliesTo } = requireExpression(request);
      requireText("fallback", fallback, 2_000);
      requireText("reason", reason, 100);
      const botId = await requireBotId(database, request);
      await requireAcceptable(workspaceId, { pattern, appliesTo }, await listPatterns(database, workspaceId, botId));
      const stored = await insertPattern(
        database,
        { workspaceId, botId },
        { pattern, fallback, reason: reason || DEFAULT_REASON, appliesTo },
        MAX_PATTERNS,
      );
      if (stored === undefined) throw tooManyPatterns();
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
    async checkText(request) {
      const { workspaceId, text } = request;
      if (text === "") throw invalidArgument("text must not be empty");
      requireText("text", text, MAX_CHECKED_CHARACTERS);
      const unsaved = request.unsaved && requireExpression(request.unsaved);
      const patterns = await listPatterns(database, workspaceId, await requireBotId(database, request));
      if (unsaved !== undefined) {
        if (patterns.length >= MAX_PATTERNS) throw tooManyPatterns();
        await requireAcceptable(workspaceId, unsaved, patterns);
        patterns.push({ ...unsaved, id: 0, reason: "", fallback: "" });
      }
      const matching = await findMatchingPatterns(patternThreads, workspaceId, text, patterns);
      return {
        matches: matching.map((pattern) => ({
          pattern: toMessage(pattern),
          blocksMessage: pattern.appliesTo !== "reply",
          blocksReply: pattern.appliesTo !== "message",
        })),
      };
    },
  };
}

type Expression = { pattern: string; appliesTo: AppliesTo };

function requireExpression({ pattern, appliesTo }: { pattern: string; appliesTo: string }): Expression {
  if (pattern === "") throw invalidArgument("pattern must not be empty");
  requireText("pattern", pattern, 1_000);
  return { pattern, appliesTo: requireAppliesTo(appliesTo) };
}

function tooManyPatterns(): ServiceError {
  return new ServiceError("resource_exhausted", "too_many_patterns", `a bot has at most ${MAX_PATTERNS} patterns`);
}

const APPLIES_TO: readonly AppliesTo[] = ["message", "reply", "both"];

function requireAppliesTo(text: string): AppliesTo {
  const appliesTo = APPLIES_TO.find((each) => each === (text || "message"));
  if (appliesTo === undefined) throw invalidArgument(`applies_to must be one of ${APPLIES_TO.join(", ")}`);
  return appliesTo;
}

function rethrowRefusal(error: unknown): never {
  if (!(error instanceof PatternRefusedError)) throw error;
  const { code, message } = error;
  throw new ServiceError(code === "patterns_too_large" ? "resource_exhausted" : "invalid_argument", code, message);
}

function requireText(name: string, text: string, limit: number): void {
  if (isLongerThan(text, limit) || text.includes("\0"))
    throw invalidArgument(`${name} must have at most ${limit} characters, and no NUL`);
}

function toMessage(pattern: StoredPattern) {
  return { ...pattern, id: BigInt(pattern.id) };
}
