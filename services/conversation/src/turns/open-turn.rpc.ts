import type { MessageInitShape } from "@bufbuild/protobuf";
import { moderate, type PatternThreadPool } from "@parley/bot-rules/moderation";
import type { OpenTurnRequest, OpenTurnResponseSchema } from "@parley/rpc/conversation";
import type { Database } from "@parley/service-kit";
import { type BotConfig, type BotConfigs, botNotFound } from "../bots/index.ts";
import { readPassages, type SemanticSearch, searchByWords, searchHybrid } from "../knowledge/index.ts";
import { sessionNotFound } from "../sessions/index.ts";
import { KNOWLEDGE_CHARACTERS, withinBudget } from "./budget.ts";
import { findTurn, openTurn } from "./open-turn.store.ts";
import { encodePrompt } from "./prompt.ts";
import { requireTurn } from "./turn-request.ts";

export type OpenTurnDeps = {
  database: Database;
  botConfigs: BotConfigs;
  patternThreads: Pick<PatternThreadPool, "match">;
  semanticSearch: SemanticSearch;
};

type Response = MessageInitShape<typeof OpenTurnResponseSchema>;

/**
 * Opens a turn and returns its prompt, or the verdict of the moderation pattern that blocked the message. Runs one statement, plus:
 * - one for the word search, if the bot has knowledge, and two more if the message has a word that the knowledge does not;
 * - one for the semantic search, which also calls llm-proxy.
 *
 * A repeated call returns the turn as it was stored the first time.
 */
export async function handleOpenTurn(
  { database, botConfigs, patternThreads, semanticSearch }: OpenTurnDeps,
  request: OpenTurnRequest,
): Promise<Response> {
  requireTurn(request);
  const { workspaceId, botId, message } = request;
  const bot = await botConfigs(workspaceId, botId);
  if (bot === undefined) throw botNotFound();

  const blocked = await moderate(patternThreads, workspaceId, message, bot.messagePatterns, bot.fallback);
  const searchStartedAt = performance.now();
  const knowledge = { workspaceId, botId, ...bot.knowledge };
  const found = blocked === undefined ? await searchHybrid(database, semanticSearch, knowledge, message) : undefined;
  const passages = withinBudget(
    found?.passages ?? [],
    ({ heading, text }) => heading.length + text.length,
    KNOWLEDGE_CHARACTERS,
  );
  const retrievalMs = bot.knowledge.chunks > 0 ? performance.now() - searchStartedAt : 0;
  const opened = await openTurn(database, {
    ...request,
    model: bot.model,
    chunkIds: passages.map((passage) => passage.id),
    blocked,
  });
  if (opened === undefined) return readRepeatedTurn(database, request, bot);

  const messageId = BigInt(opened.messageId);
  if (blocked) return { messageId, blocked, model: bot.model };
  const terms = found?.terms ?? [];
  const prompt = encodePrompt({ ...promptOf(bot), passages, terms, history: opened.history, message });
  return {
    messageId,
    model: bot.model,
    prompt,
    retrievalMicroseconds: BigInt(Math.round(retrievalMs * 1_000)),
    databaseTimeMicroseconds: BigInt(opened.databaseTimeMicroseconds),
  };
}

async function readRepeatedTurn(database: Database, request: OpenTurnRequest, bot: BotConfig): Promise<Response> {
  const turn = await findTurn(database, request.workspaceId, request.turnId);
  if (turn === undefined) throw sessionNotFound();
  const { blocked, model, message, history } = turn;
  const messageId = BigInt(turn.messageId);
  if (blocked) return { messageId, blocked, model };
  const passages = await readPassages(database, request.workspaceId, turn.chunkIds);
  const knowledge = { workspaceId: request.workspaceId, botId: request.botId, ...bot.knowledge };
  const { terms } = await searchByWords(database, knowledge, message);
  return {
    messageId,
    model,
    prompt: encodePrompt({ ...promptOf(bot), passages, terms, history, message }),
    databaseTimeMicroseconds: BigInt(turn.databaseTimeMicroseconds),
  };
}

/** The parts of a prompt that come from the bot's configuration. */
function promptOf({ systemPrompt: system, tools, replyPatterns }: BotConfig) {
  return { system, tools, replyPatterns };
}
