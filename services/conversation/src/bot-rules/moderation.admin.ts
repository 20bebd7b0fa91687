import type { ServiceImpl } from "@connectrpc/connect";
import { findMatchingPatterns, PatternRefusedError, type PatternThreadPool } from "@parley/bot-rules/moderation";
import type { ModerationAdminService } from "@parley/rpc/conversation";
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
const DEFAULT_REASON = "blocked_pattern";
/** Equal to the limit of a visitor's message. */
const MAX_CHECKED_CHARACTERS = 4_000;

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
      const pattern = requirePattern(request);
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
        const pattern = requirePattern({
          pattern: changes?.pattern ?? replaced.pattern,
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
      if (text === "") throw invalidArgument("text must not be empty");
      requireValidText("text", text, MAX_CHECKED_CHARACTERS);
      const unsaved = request.unsaved && {
        ...requireScopedPattern(request.unsaved),
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

function requireScopedPattern({ pattern, appliesTo }: { pattern: string; appliesTo: string }): ScopedPattern {
  if (pattern === "") throw invalidArgument("pattern must not be empty");
  requireValidText("pattern", pattern, 1_000);
  return { pattern, appliesTo: requireAppliesTo(appliesTo) };
}

function requirePattern(pattern: Omit<ModerationPattern, "appliesTo"> & { appliesTo: string }): ModerationPattern {
  const { fallback, reason } = pattern;
  requireValidText("fallback", fallback, 2_000);
  requireValidText("reason", reason, 100);
  return { ...requireScopedPattern(pattern), fallback, reason: reason || DEFAULT_REASON };
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

function requireValidText(name: string, text: string, limit: number): void {
  if (isLongerThan(text, limit) || text.includes("\0"))
    throw invalidArgument(`${name} must have at most ${limit} characters, and no NUL`);
}

function toPattern(pattern: StoredPattern) {
  return { ...pattern, id: BigInt(pattern.id) };
}
