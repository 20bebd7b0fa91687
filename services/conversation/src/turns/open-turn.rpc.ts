import type { MessageInitShape } from "@bufbuild/protobuf";
import { moderateMessage, type PatternThreadPool } from "@parley/bot-rules/moderation";
import type { OpenTurnRequest, OpenTurnResponseSchema } from "@parley/rpc/conversation";
import { type Database, isUuid, isWorkspaceId, ServiceError } from "@parley/service-kit";
import { type BotConfig, botNotFound, type GetBotConfig } from "../bots/index.ts";
import { readPassages, type SemanticSearch, searchByWords, searchHybrid } from "../knowledge/index.ts";
import { sessionNotFound } from "../sessions/index.ts";
import { passagesForPrompt } from "./budget.ts";
import { findKeyedTurn } from "./keyed-turns.store.ts";
import { findTurn, openTurn } from "./open-turn.store.ts";
import { encodePrompt } from "./prompt.ts";
import { requireSameRequest, toStoredTurn } from "./stored-turn.ts";
import { requireTurn } from "./turn-request.ts";

export type OpenTurnDeps = {
  database: Database;
  botConfigs: GetBotConfig;
  patternThreads: Pick<PatternThreadPool, "match">;
  semanticSearch: SemanticSearch;
};

type Response = MessageInitShape<typeof OpenTurnResponseSchema>;

/** How many keyed turns of a session may run at the same time. */
const MAX_RUNNING_KEYED_TURNS = 2;

/**
 * Opens a turn and returns its prompt, or the verdict of the moderation pattern that blocked the message. Runs one statement, plus:
 * - one that looks for the idempotency key, if there is one, before anything else;
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
  const existing = await findExisting(database, request);
  if (existing !== undefined) return { existing };
  const bot = await botConfigs(workspaceId, botId);
  if (bot === undefined) throw botNotFound();

  const blocked = await moderateMessage(patternThreads, workspaceId, message, bot.messagePatterns, bot.fallback);
  const searchStartedAt = performance.now();
  const knowledge = { workspaceId, botId, ...bot.knowledge };
  const found = blocked === undefined ? await searchHybrid(database, semanticSearch, knowledge, message) : undefined;
  const passages = passagesForPrompt(found?.passages ?? []);
  const retrievalMs = bot.knowledge.chunks > 0 ? performance.now() - searchStartedAt : 0;
  const opened = await openTurn(database, {
    ...request,
    model: bot.model,
    chunkIds: passages.map((passage) => passage.id),
    blocked,
    ...(request.keyHash.length === 0 && { keyHash: undefined, requestHash: undefined }),
  });
  if (opened === undefined) {
    // A concurrent call may have opened a turn with this key.
    const concurrent = await findExisting(database, request);
    return concurrent === undefined ? readRepeatedTurn(database, request, bot) : { existing: concurrent };
  }

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

/**
 * Returns the turn with the request's idempotency key, unless it is the request's own turn. Throws if the key was used with another message,
 * or if too many keyed turns of the session are running.
 */
async function findExisting(database: Database, request: OpenTurnRequest): Promise<Response["existing"]> {
  if (request.keyHash.length === 0 || !isWorkspaceId(request.workspaceId) || !isUuid(request.botId)) return undefined;
  const { turn, runningCount } = await findKeyedTurn(database, request);
  if (turn === undefined) {
    if (runningCount < MAX_RUNNING_KEYED_TURNS) return undefined;
    throw new ServiceError("resource_exhausted", "overloaded", "the session has too many running keyed turns");
  }
  requireSameRequest(turn, request.requestHash);
  return turn.turnId === request.turnId ? undefined : toStoredTurn(turn);
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
