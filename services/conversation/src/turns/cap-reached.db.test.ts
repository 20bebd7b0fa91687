import { create } from "@bufbuild/protobuf";
import { CloseTurnRequestSchema, OpenTurnRequestSchema, TurnOutcome } from "@parley/rpc/conversation";
import { Registry } from "@parley/service-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createBotConfigCache } from "../bots/bot-configs.service.ts";
import type { SemanticSearch } from "../knowledge/index.ts";
import { createClosedTurnCounter } from "../metrics.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { NO_HANDOFF } from "../testing/handoff.ts";
import { createBot, newOpenRequest } from "../testing/turns.ts";
import { createCapReached } from "./cap-reached.ts";
import { handleCloseTurn } from "./close-turn.rpc.ts";
import { handleOpenTurn, type OpenTurnDeps } from "./open-turn.rpc.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

test("a message is not embedded in the minute after the workspace's cap has refused one", async () => {
  const { database } = db;
  const bot = await createBot(database);
  const other = await createBot(database);
  const readBotConfig = createBotConfigCache(database);
  let embedded = 0;
  let nowMs = 1;
  const counter = createClosedTurnCounter(new Registry());
  const capReached = createCapReached(() => nowMs);
  const deps = {
    database,
    counter,
    capReached,
    botConfigs: async (...key: Parameters<typeof readBotConfig>) => {
      const config = await readBotConfig(...key);
      return config && { ...config, knowledge: { chunks: 1, languages: [], hasEmbeddings: true } };
    },
    semanticSearch: {
      search: async ({ hasEmbeddings }: Parameters<SemanticSearch["search"]>[0]) => {
        if (hasEmbeddings) embedded++;
        return { passages: [], result: undefined };
      },
    },
  } as unknown as OpenTurnDeps;
  const ask = async (from: typeof bot, outcome: TurnOutcome) => {
    const before = embedded;
    const open = create(OpenTurnRequestSchema, newOpenRequest(from));
    await handleOpenTurn(deps, open);
    const { workspaceId, turnId } = open;
    const close = create(CloseTurnRequestSchema, { workspaceId, turnId, outcome });
    await handleCloseTurn({ ...NO_HANDOFF, database, counter, notifySettler: () => undefined, capReached }, close);
    return embedded - before;
  };
  expect(await ask(bot, TurnOutcome.ERROR)).toBe(1);
  expect(await ask(bot, TurnOutcome.QUOTA_EXCEEDED)).toBe(1);
  expect(await ask(bot, TurnOutcome.QUOTA_EXCEEDED)).toBe(0);
  expect(await ask(other, TurnOutcome.ERROR)).toBe(1);
  nowMs += 60_000;
  expect(await ask(bot, TurnOutcome.ERROR)).toBe(0);
  nowMs += 1_000;
  expect(await ask(bot, TurnOutcome.ERROR)).toBe(1);
});
