import { randomUUID } from "node:crypto";
import type { Outcome } from "@parley/rpc/outcomes";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { createBot, newClosing, newTurn } from "../testing/turns.ts";
import { closeTurn, findTurnResult } from "./close-turn.store.ts";
import { openTurn } from "./open-turn.store.ts";

let db: TestDatabase;
let bot: Bot;
beforeAll(async () => {
  db = await createTestDatabase();
  bot = await createBot(db.database);
});
afterAll(() => db.drop());

async function onlyRow(sql: string, ...values: unknown[]) {
  const { rows } = await db.admin.query(sql, values);
  expect(rows).toHaveLength(1);
  return rows[0];
}

async function createOpenTurn() {
  const turn = newTurn(bot);
  await openTurn(db.database, turn);
  return turn;
}

test("closeTurn stores the outcome in the turn, the reply and the outbox", async () => {
  const turn = await createOpenTurn();
  const closed = await closeTurn(db.database, newClosing(turn, { model: "openai:gpt" }));
  const { workspaceId, turnId } = turn;
  expect(closed).toEqual({
    workspaceId,
    turnId,
    outcome: "done",
    month: "2026-11",
    unpaidDay: null,
    model: "openai:gpt",
    sessionId: turn.sessionId,
    botId: bot.id,
    shard: 0,
  });
  expect(await onlyRow("SELECT * FROM conversation.turns WHERE turn_id = $1", turnId)).toMatchObject({
    status: "done",
    model: "openai:gpt",
    asked_model: bot.model,
    tokens_in: 12,
    tokens_out: 3,
    latency_ms: 456,
    first_token_ms: 123,
    phases: [{ name: "open", microseconds: 1_500 }],
  });
  expect(
    await onlyRow("SELECT * FROM conversation.messages WHERE turn_id = $1 AND role = 'assistant'", turnId),
  ).toMatchObject({
    content: "Hi.",
    status: "done",
    model: "openai:gpt",
    tokens_in: 12,
    tokens_out: 3,
    latency_ms: 456,
    error_message: "",
  });
  expect(await onlyRow("SELECT outcome, month::text FROM conversation.outbox WHERE turn_id = $1", turnId)).toEqual({
    outcome: "done",
    month: "2026-11-01",
  });
});

test.each<Outcome>(["error", "quota_exceeded", "cancelled", "interrupted", "blocked"])(
  "a turn that is closed as %s is settled as void and keeps its partial reply",
  async (outcome) => {
    const turn = await createOpenTurn();
    const overrides = {
      outcome,
      content: "so far",
      month: undefined,
      model: "",
      errorCode: outcome === "error" ? "provider_error" : "",
    };
    expect(await closeTurn(db.database, newClosing(turn, overrides))).toMatchObject({
      outcome: "void",
      month: null,
      model: bot.model,
    });
    expect(
      await onlyRow("SELECT * FROM conversation.messages WHERE turn_id = $1 AND role = 'assistant'", turn.turnId),
    ).toMatchObject({
      content: "so far",
      status: outcome,
      error_message: overrides.errorCode,
    });
    expect(await onlyRow("SELECT outcome FROM conversation.outbox WHERE turn_id = $1", turn.turnId)).toEqual({
      outcome: "void",
    });
  },
);

test("of fifty concurrent outcomes, closeTurn stores exactly one in the turn, the reply and the outbox", async () => {
  const turn = await createOpenTurn();
  const outcomes: Outcome[] = ["done", "error", "cancelled", "interrupted", "quota_exceeded"];
  const attempts = Array.from({ length: 50 }, (_, number) =>
    newClosing(turn, {
      outcome: outcomes[number % outcomes.length] ?? "done",
      tokensOut: number,
      content: `text ${number}`,
    }),
  );
  const closed = await Promise.all(attempts.map((attempt) => closeTurn(db.database, attempt)));
  const winners = attempts.filter((_, number) => closed[number] !== undefined);
  expect(winners).toHaveLength(1);
  const [winner] = winners;
  expect(await findTurnResult(db.database, bot.workspaceId, turn.turnId)).toMatchObject({
    status: winner?.outcome,
    tokensOut: winner?.tokensOut,
  });
  expect(
    await onlyRow("SELECT * FROM conversation.messages WHERE turn_id = $1 AND role = 'assistant'", turn.turnId),
  ).toMatchObject({
    status: winner?.outcome,
    content: winner?.content,
  });
  expect(await onlyRow("SELECT outcome FROM conversation.outbox WHERE turn_id = $1", turn.turnId)).toEqual({
    outcome: winner?.outcome === "done" ? "done" : "void",
  });
});

test("closeTurn does not close a turn that OpenTurn blocked", async () => {
  const turn = newTurn(bot, { blocked: { reason: "r", fallback: "f" } });
  await openTurn(db.database, turn);
  expect(await closeTurn(db.database, newClosing(turn))).toBeUndefined();
  expect(await findTurnResult(db.database, bot.workspaceId, turn.turnId)).toMatchObject({
    status: "blocked",
    tokensIn: 0,
  });
});

test("closeTurn changes nothing when the turn was never opened or belongs to another workspace", async () => {
  const turn = await createOpenTurn();
  const otherWorkspaceBot = await createBot(db.database);
  for (const other of [
    { workspaceId: bot.workspaceId, turnId: randomUUID() },
    { workspaceId: otherWorkspaceBot.workspaceId, turnId: turn.turnId },
  ]) {
    expect(await closeTurn(db.database, newClosing(other))).toBeUndefined();
    expect(await findTurnResult(db.database, other.workspaceId, other.turnId)).toBeUndefined();
  }
  expect(await findTurnResult(db.database, bot.workspaceId, turn.turnId)).toMatchObject({ status: "streaming" });
});

test("closeTurn stores the day of an unpaid reply in the turn and the outbox, and a later outcome does not change it", async () => {
  const turn = await createOpenTurn();
  const closing = newClosing(turn, { outcome: "cancelled", month: "2026-11", unpaidDay: "2026-11-30" });
  expect(await closeTurn(db.database, closing)).toMatchObject({ outcome: "void", unpaidDay: "2026-11-30" });
  expect(await closeTurn(db.database, newClosing(turn, { unpaidDay: undefined }))).toBeUndefined();
  for (const table of ["turns", "outbox"])
    expect(
      await onlyRow(`SELECT unpaid_day::text AS day FROM conversation.${table} WHERE turn_id = $1`, turn.turnId),
    ).toEqual({ day: "2026-11-30" });
});
