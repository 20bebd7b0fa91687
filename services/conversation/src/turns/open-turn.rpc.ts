import type { MessageInitShape } from "@bufbuild/protobuf";
import { moderateMessage, type PatternThreadPool } from "@parley/bot-rules/moderation";
import { findContinuedQuestion, isFollowUp } from "@parley/bot-rules/questions";
import type { OpenTurnRequest, OpenTurnResponseSchema } from "@parley/rpc/conversation";
import { type Database, ServiceError } from "@parley/service-kit";
import { findAnswer, readAnswer } from "../answers/index.ts";
import { type BotConfig, botNotFound, chooseTranslation, type GetBotConfig } from "../bots/index.ts";
import { canRequestHandoff, toHandoffMessage } from "../handoff/index.ts";
import {
  type BotKnowledge,
  readPassages,
  type SemanticSearch,
  searchByWords,
  searchHybrid,
} from "../knowledge/index.ts";
import type { TurnCounter } from "../metrics.ts";
import { refusesTurn, refuseVisitorMismatch, sessionNotFound } from "../sessions/index.ts";
import { selectPassagesForPrompt } from "./budget.ts";
import type { CapReached } from "./cap-reached.ts";
import { readEarlierMessages } from "./history.store.ts";
import { findKeyedTurn } from "./keyed-turns.store.ts";
import { findMissingConsent, type MissingConsent, readGivenConsent } from "./missing-consent.service.ts";
import { openHandoffTurn } from "./open-handoff-turn.store.ts";
import { findOpenedTurn, MAX_RUNNING_KEYED_TURNS, openTurn } from "./open-turn.store.ts";
import { encodePrompt } from "./prompt.ts";
import { isSameRequest, requireSameRequest, toStoredTurnMessage } from "./stored-turn.ts";
import { requireValidTurnRequest } from "./turn-request.ts";

export type OpenTurnDeps = {
  database: Database;
  botConfigs: GetBotConfig;
  patternThreads: Pick<PatternThreadPool, "match">;
  semanticSearch: SemanticSearch;
  capReached: Pick<CapReached, "has">;
  counter: TurnCounter;
};

type Response = MessageInitShape<typeof OpenTurnResponseSchema>;

const MAX_ATTEMPTS = 2;
/** The llm-proxy's model that replies with the prompt's answer. */
const CURATED_MODEL = "builtin:curated";

/**
 * Opens a turn. Returns its prompt, the verdict of the moderation pattern that blocked the message, the existing turn with the idempotency
 * key, or the consent that the visitor must give first. Looks for an existing turn only if the statement that opens the turn stored nothing, which
 * keeps a new turn cheap, or if the consent is missing.
 *
 * A repeated call returns the message id, model, message, passages and history of the first call. The rest of the prompt comes from the bot's
 * current configuration and documents.
 */
export async function handleOpenTurn(
  { database, botConfigs, patternThreads, semanticSearch, capReached, counter }: OpenTurnDeps,
  request: OpenTurnRequest,
): Promise<Response> {
  requireValidTurnRequest(request);
  const { workspaceId, botId, message } = request;
  const config = await botConfigs(workspaceId, botId);
  if (config === undefined) throw botNotFound();
  const bot = { ...config, fallback: chooseTranslation(config.fallback, config.fallbacks, request.acceptLanguage) };
  // Before the search, which sends the message to the model of the embeddings.
  const missingConsent = await findMissingConsent(database, bot, request);
  if (missingConsent !== undefined) return openWithoutConsent(database, request, bot, missingConsent);

  if (bot.handoffEnabled && request.source === "widget") {
    const handedOff = await openInHandoff(database, request, bot);
    if (handedOff !== undefined) return handedOff;
  }
  const blocked = await moderateMessage(patternThreads, workspaceId, message, bot.messagePatterns, bot.fallback);
  const answer = blocked === undefined ? await readOwnersAnswer(database, request, bot) : undefined;
  const searchStartedAt = performance.now();
  const search = async () => {
    const continued = await readContinuedQuestion(database, request, bot);
    const knowledge = toKnowledge(request, bot);
    const hasEmbeddings = knowledge.hasEmbeddings && !capReached.has(workspaceId);
    return searchHybrid(database, semanticSearch, { ...knowledge, hasEmbeddings }, message, continued);
  };
  const found = blocked === undefined && answer === undefined ? await search() : undefined;
  const passages = selectPassagesForPrompt(found?.passages ?? []);
  const retrievalMs = found !== undefined && bot.knowledge.chunks > 0 ? performance.now() - searchStartedAt : 0;
  const turn = {
    ...request,
    model: answer === undefined ? bot.model : CURATED_MODEL,
    chunkIds: passages.map((passage) => passage.id),
    isGrounded: passages.length > 0 || answer !== undefined,
    blocked,
    consentVersion: readGivenConsent(bot, request),
    ...(request.keyHash.length === 0 && { keyHash: undefined, requestHash: undefined }),
  };
  let opened = await openTurn(database, turn);
  for (let attempts = 1; opened === undefined; attempts++) {
    const existing = await readExisting(database, request, bot);
    if (existing !== undefined) return existing;
    if (attempts === MAX_ATTEMPTS) {
      await refuseVisitorMismatch(database, request);
      throw sessionNotFound();
    }
    // A person may have been asked for or have taken over since, or the owner has switched the handoff off.
    const handedOff = request.source === "widget" ? await openInHandoff(database, request, bot) : undefined;
    if (handedOff !== undefined) return handedOff;
    // The previous attempt may have failed because too many keyed turns of the session were running. One of them may have ended since.
    opened = await openTurn(database, turn);
  }

  const canRequestHuman = request.source === "widget" && canRequestHandoff(bot);
  const messageId = BigInt(opened.messageId);
  if (blocked) {
    counter.inc({ outcome: "blocked" });
    return { messageId, blocked, model: bot.model };
  }
  const terms = found?.terms ?? [];
  const prompt = encodePrompt({ bot, passages, terms, history: opened.history, message, answer, canRequestHuman });
  return {
    messageId,
    model: turn.model,
    prompt,
    retrievalMicroseconds: BigInt(Math.round(retrievalMs * 1_000)),
    databaseTimeMicroseconds: BigInt(opened.databaseTimeMicroseconds),
  };
}

/**
 * Stores the message of a session that waits for a person or has one: without moderation, search and model. Returns undefined if the bot answers in
 * the session, or if the turn exists already.
 */
async function openInHandoff(
  database: Database,
  request: OpenTurnRequest,
  bot: BotConfig,
): Promise<Response | undefined> {
  const opened = await openHandoffTurn(database, {
    ...request,
    chunkIds: [],
    isGrounded: false,
    blocked: undefined,
    model: "",
    consentVersion: readGivenConsent(bot, request),
    ...(request.keyHash.length === 0 && { keyHash: undefined, requestHash: undefined }),
  });
  return opened && { messageId: BigInt(opened.messageId), handoff: toHandoffMessage(opened.handoff) };
}

/**
 * Returns the turn that exists already: another turn with the idempotency key, or the request's own turn if the call is repeated. Throws if the
 * key was used with another message, or if too many keyed turns of the session are running.
 */
async function readExisting(
  database: Database,
  request: OpenTurnRequest,
  bot: BotConfig,
): Promise<Response | undefined> {
  if (request.keyHash.length > 0) {
    const { turn, runningCount } = await findKeyedTurn(database, request);
    if (turn !== undefined) requireSameRequest(turn, request.requestHash);
    if (turn !== undefined && turn.turnId !== request.turnId) return { existing: toStoredTurnMessage(turn) };
    if (turn === undefined && runningCount >= MAX_RUNNING_KEYED_TURNS)
      throw new ServiceError(
        "resource_exhausted",
        "too_many_keyed_turns",
        "the session has too many running keyed turns",
      );
  }
  return readRepeatedTurn(database, request, bot);
}

/**
 * Returns the existing turn of a request without the consent that its bot asks for, because a repeated request needs none; otherwise the missing
 * consent. Throws if the visitor may not use the session.
 */
async function openWithoutConsent(
  database: Database,
  request: OpenTurnRequest,
  bot: BotConfig,
  consentRequired: MissingConsent,
): Promise<Response> {
  const turn = request.keyHash.length > 0 ? (await findKeyedTurn(database, request)).turn : undefined;
  if (turn !== undefined && turn.turnId !== request.turnId && isSameRequest(turn, request.requestHash))
    return { existing: toStoredTurnMessage(turn) };
  const repeated = await readRepeatedTurn(database, request, bot);
  if (repeated !== undefined) return repeated;
  await refuseVisitorMismatch(database, request);
  if (await refusesTurn(database, request)) throw sessionNotFound();
  return { consentRequired };
}

/** Returns the request's own turn. Returns undefined if the turn does not exist, or if its session was deleted or erased. */
async function readRepeatedTurn(
  database: Database,
  request: OpenTurnRequest,
  bot: BotConfig,
): Promise<Response | undefined> {
  const turn = await findOpenedTurn(database, request.workspaceId, request.turnId);
  if (turn === undefined) return undefined;
  const { blocked, model, message, history } = turn;
  const messageId = BigInt(turn.messageId);
  if (blocked) return { messageId, blocked, model };
  if (turn.handoff) return { messageId, handoff: toHandoffMessage(turn.handoff) };
  const passages = await readPassages(database, request.workspaceId, turn.chunkIds);
  const { terms } = await searchByWords(database, toKnowledge(request, bot), message);
  const answer = model === CURATED_MODEL ? await readOwnersAnswer(database, request, bot) : undefined;
  return {
    messageId,
    // The owner may have removed the answer since.
    model: model === CURATED_MODEL && answer === undefined ? bot.model : model,
    prompt: encodePrompt({
      bot,
      passages,
      terms,
      history,
      message,
      answer,
      canRequestHuman: request.source === "widget" && canRequestHandoff(bot),
    }),
    databaseTimeMicroseconds: BigInt(turn.databaseTimeMicroseconds),
  };
}

/** Returns the answer that the bot's owner has written for the message; undefined if there is none. */
async function readOwnersAnswer(
  database: Database,
  { workspaceId, botId, message }: OpenTurnRequest,
  { answers }: BotConfig,
): Promise<string | undefined> {
  const match = findAnswer(message, answers);
  return match && readAnswer(database, { workspaceId, botId }, match.answerId);
}

/** Returns the visitor's question that the message continues; empty if there is none. Only a message that continues one needs a statement. */
async function readContinuedQuestion(database: Database, request: OpenTurnRequest, bot: BotConfig): Promise<string> {
  if (bot.knowledge.chunks === 0 || !isFollowUp(request.message)) return "";
  return findContinuedQuestion(request.message, await readEarlierMessages(database, request));
}

function toKnowledge({ workspaceId, botId }: OpenTurnRequest, { timeZone, knowledge }: BotConfig): BotKnowledge {
  return { workspaceId, botId, timeZone, ...knowledge };
}
