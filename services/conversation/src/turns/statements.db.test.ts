import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { PatternThreadPool } from "@parley/bot-rules/moderation";
import {
  CloseTurnRequestSchema,
  type OpenTurnRequest,
  OpenTurnRequestSchema,
  TurnOutcome,
} from "@parley/rpc/conversation";
import { createLogger, type Database, Lifecycle, Registry } from "@parley/service-kit";
import { recordStatements } from "@parley/service-kit/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { insertPattern } from "../bot-rules/moderation.store.ts";
import { createBotConfigCache, type GetBotConfig } from "../bots/bot-configs.service.ts";
import type { Bot } from "../bots/bots.store.ts";
import { SemanticSearch } from "../knowledge/semantic-search.service.ts";
import { createClosedTurnCounter, createSemanticSearchCounter } from "../metrics.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { NO_HANDOFF } from "../testing/handoff.ts";
import { addDocument } from "../testing/knowledge.ts";
import { startTestLlm, type TestLlm } from "../testing/llm.ts";
import { createBot, newOpenRequest } from "../testing/turns.ts";
import { createCapReached } from "./cap-reached.ts";
import { handleCloseTurn } from "./close-turn.rpc.ts";
import { handleOpenTurn } from "./open-turn.rpc.ts";

let db: TestDatabase;
let llm: TestLlm;
const capReached = createCapReached(() => performance.now());
const log = createLogger("test", "silent");
const lifecycle = new Lifecycle(log);
const patternThreads = new PatternThreadPool({ registry: new Registry(), log, lifecycle });
beforeAll(async () => {
  db = await createTestDatabase();
  llm = await startTestLlm();
});
afterAll(async () => {
  await lifecycle.close();
  llm.close();
  await db.drop();
});

function openTurn(database: Database, botConfigs: GetBotConfig, open: OpenTurnRequest) {
  const counter = createClosedTurnCounter(new Registry());
  const searches = createSemanticSearchCounter(new Registry());
  const semanticSearch = new SemanticSearch({ database, llm: llm.client, searches, log, now: () => performance.now() });
  return handleOpenTurn({ database, botConfigs, patternThreads, semanticSearch, capReached, counter }, open);
}

const request = (bot: Bot, message = "How long do refunds take?") =>
  create(OpenTurnRequestSchema, newOpenRequest(bot, { message }));

/** Returns the statements of OpenTurn while the bot's configuration is cached. */
async function statementsToOpen(bot: Bot, message?: string) {
  const getBotConfig = createBotConfigCache(db.database);
  await getBotConfig(bot.workspaceId, bot.id);
  return recordStatements(db.database, (database) => openTurn(database, getBotConfig, request(bot, message)));
}

test("OpenTurn runs one statement, a second one to search the bot's knowledge, a third one if the message continues a question, and two more to correct a misspelt word", async () => {
  const bot = await createBot(db.database);
  expect(await statementsToOpen(bot)).toHaveLength(1);
  const { workspaceId, id: botId } = bot;
  await addDocument(db.database, bot, "n", "Refunds take a week.");
  expect(await statementsToOpen(bot)).toHaveLength(2);
  // One more statement finds words similar to the misspelt one, and another one searches for them.
  expect(await statementsToOpen(bot, "How long do refnuds take?")).toHaveLength(4);
  // One more statement reads the question that the message continues.
  expect(await statementsToOpen(bot, "And a refund?")).toHaveLength(3);
  // OpenTurn does not search if a pattern blocks the message.
  await insertPattern(
    db.database,
    { workspaceId, botId },
    { pattern: "rude", reason: "r", fallback: "", appliesTo: "message" },
    [],
  );
  expect(await statementsToOpen(bot, "rude")).toHaveLength(1);
});

test("concurrent calls read a bot's configuration once, and later calls use the cache", async () => {
  const bot = await createBot(db.database);
  const statements = await recordStatements(db.database, async (database) => {
    const getBotConfig = createBotConfigCache(database);
    await Promise.all(Array.from({ length: 50 }, () => getBotConfig(bot.workspaceId, bot.id)));
    await getBotConfig(bot.workspaceId, bot.id.toUpperCase());
  });
  expect(statements).toHaveLength(1);
});

test("CloseTurn runs one statement, and a second one if the turn is closed already", async () => {
  const bot = await createBot(db.database);
  const open = request(bot);
  await openTurn(db.database, createBotConfigCache(db.database), open);
  const { workspaceId, turnId } = open;
  const close = create(CloseTurnRequestSchema, { workspaceId, turnId, outcome: TurnOutcome.DONE, month: "2026-11" });
  const counter = createClosedTurnCounter(new Registry());
  const closeTurn = (database: Database) =>
    handleCloseTurn({ ...NO_HANDOFF, database, counter, notifySettler: () => undefined, capReached }, close);
  expect(await recordStatements(db.database, closeTurn)).toHaveLength(1);
  expect(await recordStatements(db.database, closeTurn)).toHaveLength(2);
});

test("OpenTurn with an idempotency key runs one more statement only if a turn with this key exists", async () => {
  const bot = await createBot(db.database);
  await addDocument(db.database, bot, "n", "Refunds take a week.");
  const getBotConfig = createBotConfigCache(db.database);
  await getBotConfig(bot.workspaceId, bot.id);
  const hashes = { keyHash: new Uint8Array(32).fill(1), requestHash: new Uint8Array(32).fill(2) };
  const turn = { ...request(bot), ...hashes };
  const statementsOf = (open: OpenTurnRequest) =>
    recordStatements(db.database, (database) => openTurn(database, getBotConfig, open));
  expect(await statementsOf(turn)).toHaveLength(2);
  expect(await statementsOf({ ...turn, turnId: randomUUID() })).toHaveLength(3);
});
