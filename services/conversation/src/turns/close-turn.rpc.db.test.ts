import { create } from "@bufbuild/protobuf";
import { CloseTurnRequestSchema, HandoffState, TurnOutcome } from "@parley/rpc/conversation";
import { Registry } from "@parley/service-kit";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createBotConfigCache } from "../bots/bot-configs.service.ts";
import { requestHandoff, resolveHandoff, takeHandoff } from "../handoff/handoff.store.ts";
import { createClosedTurnCounter } from "../metrics.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { NO_HANDOFF } from "../testing/handoff.ts";
import { createBot, newCloseRequest, newTurn } from "../testing/turns.ts";
import { createCapReached } from "./cap-reached.ts";
import { handleCloseTurn } from "./close-turn.rpc.ts";
import { openTurn } from "./open-turn.store.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const createDeps = ({ database }: TestDatabase) => ({
  database,
  botConfigs: createBotConfigCache(database),
  metrics: NO_HANDOFF.metrics,
  counter: createClosedTurnCounter(new Registry()),
  notifySettler: () => undefined,
  capReached: createCapReached(() => performance.now()),
});

test("a CloseTurn that cancels a reply returns the person who has taken the session over, also if it is repeated", async () => {
  const bot = await createBot(db.database);
  const turn = newTurn(bot);
  await openTurn(db.database, turn);
  await takeHandoff(db.database, turn, { id: "a1", name: "Anna" });
  const request = create(CloseTurnRequestSchema, { ...newCloseRequest(turn), outcome: TurnOutcome.CANCELLED });
  for (let call = 0; call < 2; call++)
    expect((await handleCloseTurn(createDeps(db), request)).handoff).toMatchObject({ agent: { name: "Anna" } });
  await resolveHandoff(db.database, turn);
  expect((await handleCloseTurn(createDeps(db), request)).handoff).toBeUndefined();
});

test("a repeated CloseTurn also returns that the model has asked for a person, until the bot answers again", async () => {
  const { database } = db;
  const bot = await createBot(database, { handoffEnabled: true });
  const deps = createDeps(db);
  const open = async () => {
    const turn = newTurn(bot);
    await openTurn(database, turn);
    const toolsCalled = [{ name: "request_human", arguments: "{}", status: "ok", latencyMs: 1 }];
    const request = create(CloseTurnRequestSchema, { ...newCloseRequest(turn), toolsCalled });
    return { turn, close: async () => (await handleCloseTurn(deps, request)).handoff?.state };
  };
  const lost = await open();
  expect(await lost.close()).toBe(HandoffState.REQUESTED);
  expect(await lost.close()).toBe(HandoffState.REQUESTED);
  await resolveHandoff(database, lost.turn);
  expect(await lost.close()).toBeUndefined();
  // The process stopped between asking and closing the turn.
  const stopped = await open();
  await requestHandoff(database, { ...stopped.turn, reason: "model", waitSeconds: 180, repliesInARow: 0 });
  expect(await stopped.close()).toBe(HandoffState.REQUESTED);
});
