import { afterAll, beforeAll, expect, test } from "vitest";
import { deleteSettled } from "../settlement/outbox.store.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { createBot, newClosing, newTurn, runTurn } from "../testing/turns.ts";
import { closeTurn, recordTimings } from "./close-turn.store.ts";
import { openTurn } from "./open-turn.store.ts";
import { findTurnRecord, findTurnRecordById } from "./turn-record.store.ts";

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

const MARKER = "content-of-the-turn";

test("finds a turn by its id, or by the id of the visitor's message or of the reply, and returns its status, timings and counts, but no content", async () => {
  const bot = await createBot(db.database);
  const turn = newTurn(bot, {
    message: MARKER,
    chunkIds: [9_999],
    visitorId: MARKER,
    visitorMetadata: `{"a":"${MARKER}"}`,
  });
  const messageId = await runTurn(db.database, turn, { content: MARKER, finishDetail: "length" });
  const tools = [{ name: "weather", arguments: { place: MARKER }, status: "ok", latency_ms: 12 }];
  await db.admin.query("UPDATE conversation.messages SET tools_called = $1 WHERE message_id = $2", [
    JSON.stringify(tools),
    messageId,
  ]);
  const record = await findTurnRecord(db.database, bot.workspaceId, messageId);
  expect(record).toMatchObject({
    turnId: turn.turnId,
    messageId,
    botSlug: bot.slug,
    status: "done",
    finishDetail: "length",
    latencyMs: 456,
    phases: [{ name: "open", microseconds: 1_500 }],
    isSettling: true,
    knowledge: [{ chunkId: 9_999, source: "", heading: "" }],
    tools: [{ name: "weather", status: "ok", latency_ms: 12 }],
  });
  expect(JSON.stringify(record)).not.toContain(MARKER);
  expect(await findTurnRecordById(db.database, bot.workspaceId, turn.turnId)).toMatchObject({
    turnId: turn.turnId,
    messageId,
  });
  await deleteSettled(db.database, [turn]);
  expect(await findTurnRecord(db.database, bot.workspaceId, messageId - 1)).toEqual({ ...record, isSettling: false });
  expect(await findTurnRecord(db.database, (await createBot(db.database)).workspaceId, messageId)).toBeUndefined();
  expect(
    await findTurnRecordById(db.database, (await createBot(db.database)).workspaceId, turn.turnId),
  ).toBeUndefined();
});

test("recordTimings stores the timings of a blocked turn only once, and stores none for an open turn", async () => {
  const bot = await createBot(db.database);
  const blocked = newTurn(bot, { blocked: { reason: "rude", fallback: "No." } });
  const opened = await openTurn(db.database, blocked);
  const record = (name: string) =>
    recordTimings(db.database, { ...blocked, latencyMs: 7, phases: [{ name, microseconds: 7_000 }] });
  await record("first");
  await record("second");
  expect(await findTurnRecord(db.database, bot.workspaceId, opened?.messageId ?? 0)).toMatchObject({
    status: "blocked",
    blockedReason: "rude",
    latencyMs: 7,
    phases: [{ name: "first", microseconds: 7_000 }],
  });
  const open = newTurn(bot);
  const streaming = await openTurn(db.database, open);
  await recordTimings(db.database, newClosing(open, { latencyMs: 7 }));
  expect(await findTurnRecord(db.database, bot.workspaceId, streaming?.messageId ?? 0)).toMatchObject({
    status: "streaming",
    closedAt: null,
    latencyMs: 0,
    phases: [],
  });
  await closeTurn(db.database, newClosing(open));
});
