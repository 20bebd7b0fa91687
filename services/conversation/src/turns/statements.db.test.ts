import { create } from "@bufbuild/protobuf";
import { PatternThreadPool } from "@parley/bot-rules/moderation";
import {
  CloseTurnRequestSchema,
  type OpenTurnRequest,
  OpenTurnRequestSchema,
  TurnOutcome,
} from "@parley/rpc/conversation";
import { createLogger, type Database, Lifecycle, Registry } from "@parley/service-kit";
import { statementsOf } from "@parley/service-kit/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { insertPattern } from "../bot-rules/moderation.store.ts";
import { type BotConfigs, cachedBotConfigs } from "../bots/bot-configs.service.ts";
import type { Bot } from "../bots/bots.store.ts";
import { SemanticSearch } from "../knowledge/semantic-search.service.ts";
import { closedTurns, semanticSearches } from "../metrics.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { addDocument } from "../testing/knowledge.ts";
import { startTestLlm, type TestLlm } from "../testing/llm.ts";
import { createBot, openRequest } from "../testing/turns.ts";
import { handleCloseTurn } from "./close-turn.rpc.ts";
import { handleOpenTurn } from "./open-turn.rpc.ts";

let db: TestDatabase;
let llm: TestLlm;
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

function openTurn(database: Database, botConfigs: BotConfigs, open: OpenTurnRequest) {
  const searches = semanticSearches(new Registry());
  const semanticSearch = new SemanticSearch({ database, llm: llm.client, searches, log, now: () => performance.now() });
  return handleOpenTurn({ database, botConfigs, patternThreads, semanticSearch }, open);
}

const request = (bot: Bot, message = "How long do refunds take?") =>
  create(OpenTurnRequestSchema, openRequest(bot, { message }));

/** The statements of OpenTurn when the bot's configuration is cached. */
async function statementsToOpen(bot: Bot, message?: string) {
  const configs = cachedBotConfigs(db.database);
  await configs(bot.workspaceId, bot.id);
  return statementsOf(db.database, (database) => openTurn(database, configs, request(bot, message)));
}

test("OpenTurn runs one statement, and a second one to search the bot's knowledge", async () => {
  const bot = await createBot(db.database);
  expect(await statementsToOpen(bot)).toHaveLength(1);
  const { workspaceId, id: botId } = bot;
  await addDocument(db.database, bot, "n", "Refunds take a week.");
  expect(await statementsToOpen(bot)).toHaveLength(2);
  // For a word that the knowledge does not have: one statement finds similar words and one searches for these.
  expect(await statementsToOpen(bot, "How long do refnuds take?")).toHaveLength(4);
  await insertPattern(
    db.database,
    { workspaceId, botId },
    { pattern: "rude", reason: "r", fallback: "", appliesTo: "message" },
    1,
  );
  expect(await statementsToOpen(bot, "rude")).toHaveLength(1);
});

test("concurrent calls read a bot's configuration once, and later calls use the cache", async () => {
  const bot = await createBot(db.database);
  const statements = await statementsOf(db.database, async (database) => {
    const configs = cachedBotConfigs(database);
    await Promise.all(Array.from({ length: 50 }, () => configs(bot.workspaceId, bot.id)));
    await configs(bot.workspaceId, bot.id.toUpperCase());
  });
  expect(statements).toHaveLength(1);
});

test("CloseTurn runs one statement, and a second one if the turn is closed already", async () => {
  const bot = await createBot(db.database);
  const open = request(bot);
  await openTurn(db.database, cachedBotConfigs(db.database), open);
  const { workspaceId, turnId } = open;
  const close = create(CloseTurnRequestSchema, { workspaceId, turnId, outcome: TurnOutcome.DONE, month: "2026-11" });
  const counter = closedTurns(new Registry());
  const closing = (database: Database) => handleCloseTurn({ database, counter, onClosed: () => undefined }, close);
  expect(await statementsOf(db.database, closing)).toHaveLength(1);
  expect(await statementsOf(db.database, closing)).toHaveLength(2);
});
