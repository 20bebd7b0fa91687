import type { ServiceImpl } from "@connectrpc/connect";
import {
  compileWords,
  findMatchingPatterns,
  normaliseWord,
  PatternRefusedError,
  type PatternThreadPool,
  parseWords,
} from "@parley/bot-rules/moderation";
import { AddPatternRequestSchema, type ModerationAdminService } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import { type Database, invalidArgument, isLongerThan, notFound, ServiceError } from "@parley/service-kit";
import { requireBotId } from "../bots/index.ts";
import {
  type AppliesTo,
  deletePattern,
  insertPattern,
  listPatterns,
  type ModerationPattern,
  type StoredPattern,
  updatePattern,
} from "./moderation.store.ts";

const MAX_PATTERNS = 100;
/** A list of words may be as long as a pattern, in total. */
const { max: MAX_WORDS_CHARACTERS } = limitsOf(AddPatternRequestSchema.field.pattern);
const DEFAULT_REASON = "blocked_pattern";

export function createModerationAdmin(
  database: Database,
  patternThreads: Pick<PatternThreadPool, "check" | "matchAll">,
): ServiceImpl<typeof ModerationAdminService> {
  /** Throws unless the pattern may be saved beside the bot's other patterns. */
  async function requireAcceptable(
    workspaceId: string,
    { pattern, appliesTo }: ScopedPattern,
    otherPatterns: readonly StoredPattern[],
  ): Promise<void> {
    const others = otherPatterns.map((each) => each.pattern);
    await patternThreads
      .check(workspaceId, { pattern, isForReplies: appliesTo !== "message", otherPatterns: others })
      .catch(rethrowRefusal);
  }

  async function requireAddable(
    workspaceId: string,
    scopedPattern: ScopedPattern,
    saved: readonly StoredPattern[],
  ): Promise<void> {
    if (saved.length >= MAX_PATTERNS) throw tooManyPatterns();
    await requireAcceptable(workspaceId, scopedPattern, saved);
  }

  /**
   * Returns the saved patterns with the unsaved one: in place of the pattern that it replaces, or last if it replaces none. Throws unless
   * the unsaved pattern may be saved.
   */
  async function withUnsaved(
    workspaceId: string,
    saved: readonly StoredPattern[],
    { replacesId, ...scopedPattern }: ScopedPattern & { replacesId: bigint },
  ): Promise<StoredPattern[]> {
    const unsaved = { ...scopedPattern, id: 0, reason: "", fallback: "" };
    if (replacesId !== 0n) {
      const { replaced, others } = findReplaced(saved, replacesId);
      await requireAcceptable(workspaceId, scopedPattern, others);
      return saved.map((each) => (each === replaced ? unsaved : each));
    }
    await requireAddable(workspaceId, scopedPattern, saved);
    return [...saved, unsaved];
  }

  /**
   * Calls `attempt` with the bot's current patterns until it returns the stored pattern. If a concurrent call has changed the patterns,
   * `attempt` must store nothing and return undefined.
   */
  async function write(
    workspaceId: string,
    botId: string,
    attempt: (saved: readonly StoredPattern[]) => Promise<StoredPattern | undefined>,
  ) {
    for (;;) {
      const stored = await attempt(await listPatterns(database, workspaceId, botId));
      if (stored !== undefined) return { pattern: toPattern(stored) };
    }
  }

  return {
    async addPattern(request) {
      const { workspaceId } = request;
      const { fallback, reason, appliesTo } = request;
      const expression = requireExpression(request.pattern, request.words);
      const pattern = withDefaults({ pattern: expression, fallback, reason, appliesTo });
      const botId = await requireBotId(database, request);
      return write(workspaceId, botId, async (saved) => {
        await requireAddable(workspaceId, pattern, saved);
        return insertPattern(database, { workspaceId, botId }, pattern, saved);
      });
    },
    async updatePattern(request) {
      const { workspaceId, id, changes } = request;
      const botId = await requireBotId(database, request);
      return write(workspaceId, botId, async (saved) => {
        const { replaced, others } = findReplaced(saved, id);
        const isChanged = changes?.pattern !== undefined || changes?.words !== undefined;
        const pattern = withDefaults({
          pattern: isChanged ? requireExpression(changes.pattern ?? "", changes.words?.values ?? []) : replaced.pattern,
          fallback: changes?.fallback ?? replaced.fallback,
          reason: changes?.reason ?? replaced.reason,
          appliesTo: changes?.appliesTo ?? replaced.appliesTo,
        });
        await requireAcceptable(workspaceId, pattern, others);
        return updatePattern(database, { workspaceId, botId }, { ...pattern, id: replaced.id }, saved);
      });
    },
    async listPatterns(request) {
      const botId = await requireBotId(database, request);
      return { patterns: (await listPatterns(database, request.workspaceId, botId)).map(toPattern) };
    },
    async removePattern(request) {
      const botId = await requireBotId(database, request);
      if (!(await deletePattern(database, request.workspaceId, botId, request.id))) throw patternNotFound();
      return {};
    },
    async checkText(request) {
      const { workspaceId, text } = request;
      const unsaved = request.unsaved && {
        pattern: requireExpression(request.unsaved.pattern, request.unsaved.words),
        appliesTo: toAppliesTo(request.unsaved.appliesTo),
        replacesId: request.unsaved.replacesId,
      };
      const saved = await listPatterns(database, workspaceId, await requireBotId(database, request));
      const patterns = unsaved === undefined ? saved : await withUnsaved(workspaceId, saved, unsaved);
      const matching = await findMatchingPatterns(patternThreads, workspaceId, text, patterns);
      return {
        matches: matching.map((pattern) => ({
          pattern: toPattern(pattern),
          blocksMessage: pattern.appliesTo !== "reply",
          blocksReply: pattern.appliesTo !== "message",
        })),
      };
    },
  };
}

type ScopedPattern = { pattern: string; appliesTo: AppliesTo };

/** Returns the pattern, or the pattern made from the words. Throws unless exactly one of them is given. */
function requireExpression(pattern: string, words: readonly string[]): string {
  if (words.length === 0) {
    if (pattern === "") throw invalidArgument("pattern must not be empty");
    return pattern;
  }
  if (pattern !== "") throw invalidArgument("give either a pattern or words");
  const text = words.join(" ");
  if (isLongerThan(text, MAX_WORDS_CHARACTERS) || text.includes("\0"))
    throw invalidArgument(`words must have at most ${MAX_WORDS_CHARACTERS} characters, and no NUL`);
  const normalised = [...new Set(words.map(normaliseWord).filter((word) => word !== ""))];
  if (normalised.length === 0) throw invalidArgument("words must not be empty");
  return compileWords(normalised);
}

function withDefaults(pattern: Omit<ModerationPattern, "appliesTo"> & { appliesTo: string }): ModerationPattern {
  return { ...pattern, appliesTo: toAppliesTo(pattern.appliesTo), reason: pattern.reason || DEFAULT_REASON };
}

function findReplaced(patterns: readonly StoredPattern[], id: bigint) {
  const replaced = patterns.find((each) => BigInt(each.id) === id);
  if (replaced === undefined) throw patternNotFound();
  return { replaced, others: patterns.filter((each) => each !== replaced) };
}

function patternNotFound(): ServiceError {
  return notFound("pattern_not_found", "the bot has no such pattern");
}

function tooManyPatterns(): ServiceError {
  return new ServiceError("resource_exhausted", "too_many_patterns", `a bot has at most ${MAX_PATTERNS} patterns`);
}

/** The rules of the protos allow these values alone, or an empty text. */
function toAppliesTo(text: string): AppliesTo {
  return (text || "message") as AppliesTo;
}

function rethrowRefusal(error: unknown): never {
  if (!(error instanceof PatternRefusedError)) throw error;
  const { code, message } = error;
  throw new ServiceError(code === "patterns_too_large" ? "resource_exhausted" : "invalid_argument", code, message);
}

function toPattern(pattern: StoredPattern) {
  return { ...pattern, id: BigInt(pattern.id), words: parseWords(pattern.pattern) ?? [] };
}
