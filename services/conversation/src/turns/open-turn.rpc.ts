import type { MessageInitShape } from "@bufbuild/protobuf";
import { moderate, type PatternThreads } from "@parley/bot-rules/moderation";
import type { OpenTurnRequest, OpenTurnResponseSchema } from "@parley/rpc/conversation";
import type { Database } from "@parley/service-kit";
import { type BotConfig, type BotConfigs, botNotFound } from "../bots/index.ts";
import { findKnowledge, type Meanings, readPassages, searchKnowledge } from "../knowledge/index.ts";
import { sessionNotFound } from "../sessions/index.ts";
import { KNOWLEDGE_CHARACTERS, withinBudget } from "./budget.ts";
import { findTurn, openTurn } from "./open-turn.store.ts";
import { encodePrompt } from "./prompt.ts";
import { requireTurn } from "./turn-request.ts";

export type OpenTurnDeps = {
  database: Database;
  botConfigs: BotConfigs;
  patternThreads: Pick<PatternThreads, "match">;
  meanings: Meanings;
};

type Response = MessageInitShape<typeof OpenTurnResponseSchema>;

/**
 * A turn costs one statement here, and a second one when its bot has knowledge to search; a misspelt word costs two more, and to search by meaning
 * one, beside a call of llm-proxy. A repeated one is answered from what was stored the first time.
 */
export async function handleOpenTurn(
  { database, botConfigs, patternThreads, meanings }: OpenTurnDeps,
  request: OpenTurnRequest,
): Promise<Response> {
  requireTurn(request);
  const { workspaceId, botId, message } = request;
  const bot = await botConfigs(workspaceId, botId);
  if (bot === undefined) throw botNotFound();

  const blocked = await moderate(patternThreads, workspaceId, message, bot.messagePatterns, bot.fallback);
  const searchedAt = performance.now();
  const knowledge = { workspaceId, botId, ...bot.knowledge };
  const found = blocked === undefined ? await findKnowledge(database, meanings, knowledge, message) : undefined;
  const passages = withinBudget(
    found?.passages ?? [],
    ({ heading, text }) => heading.length + text.length,
    KNOWLEDGE_CHARACTERS,
  );
  const retrievalMs = bot.knowledge.chunks > 0 ? performance.now() - searchedAt : 0;
  const opened = await openTurn(database, {
    ...request,
    model: bot.model,
    chunkIds: passages.map((passage) => passage.id),
    blocked,
  });
  if (opened === undefined) return repeat(database, request, bot);

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

async function repeat(database: Database, request: OpenTurnRequest, bot: BotConfig): Promise<Response> {
  const standing = await findTurn(database, request.workspaceId, request.turnId);
  if (standing === undefined) throw sessionNotFound();
  const { blocked, model, message, history } = standing;
  const messageId = BigInt(standing.messageId);
  if (blocked) return { messageId, blocked, model };
  const passages = await readPassages(database, request.workspaceId, standing.chunkIds);
  const knowledge = { workspaceId: request.workspaceId, botId: request.botId, ...bot.knowledge };
  const { terms } = await searchKnowledge(database, knowledge, message);
  return {
    messageId,
    model,
    prompt: encodePrompt({ ...promptOf(bot), passages, terms, history, message }),
    databaseTimeMicroseconds: BigInt(standing.databaseTimeMicroseconds),
  };
}

/** What of its prompt a bot brings itself. */
function promptOf({ systemPrompt: system, tools, replyPatterns }: BotConfig) {
  return { system, tools, replyPatterns };
}
