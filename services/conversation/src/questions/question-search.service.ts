import { type Database, ServiceError, WorkspaceTimeLimiter } from "@parley/service-kit";
import { botNotFound, readBotConfig } from "../bots/index.ts";
import {
  type BotKnowledge,
  type FoundPassage,
  type HybridMatches,
  type SemanticSearch,
  searchHybrid,
} from "../knowledge/index.ts";
import { selectPassagesForPrompt } from "../turns/index.ts";

/** A workspace may search outside of turns for this share of the time. Each search may need an embedding, which the operator pays for. */
const TIME_LIMIT = { share: 0.25, burstMs: 20_000 };

export type QuestionMatches = Pick<HybridMatches, "semanticResult"> & {
  /** Best first. */
  passages: readonly FoundPassage[];
  /** The first passages: as many as fit into a reply's prompt. */
  usedPassages: readonly FoundPassage[];
};

/** Finds passages for an owner's question exactly as OpenTurn does for a visitor's message. */
export class QuestionSearch {
  readonly #database: Database;
  readonly #semanticSearch: SemanticSearch;
  readonly #limiter: WorkspaceTimeLimiter;

  constructor(database: Database, semanticSearch: SemanticSearch, timeLimit = TIME_LIMIT) {
    this.#database = database;
    this.#semanticSearch = semanticSearch;
    this.#limiter = new WorkspaceTimeLimiter(timeLimit);
  }

  /** Throws searches_overloaded if the workspace has no search time left. */
  requireSearchTimeLeft(workspaceId: string): void {
    const waitMs = this.#limiter.waitMs(workspaceId, performance.now());
    if (waitMs > 0)
      throw new ServiceError(
        "resource_exhausted",
        "searches_overloaded",
        `the workspace has searched too much: try again in ${Math.ceil(waitMs / 1_000)} s`,
      );
  }

  /** Reads a bot's BotKnowledge from the database, not from the cache that turns use. */
  async readKnowledge(workspaceId: string, botId: string): Promise<BotKnowledge> {
    const config = await readBotConfig(this.#database, workspaceId, botId);
    if (config === undefined) throw botNotFound();
    return { workspaceId, botId, timeZone: config.timeZone, ...config.knowledge };
  }

  /** Searches, and subtracts the elapsed time from the workspace's search time. */
  async search(bot: BotKnowledge, question: string): Promise<QuestionMatches> {
    const startedAtMs = performance.now();
    try {
      const { passages, semanticResult } = await searchHybrid(this.#database, this.#semanticSearch, bot, question);
      return { passages, usedPassages: selectPassagesForPrompt(passages), semanticResult };
    } finally {
      const nowMs = performance.now();
      this.#limiter.charge(bot.workspaceId, nowMs - startedAtMs, nowMs);
    }
  }
}
