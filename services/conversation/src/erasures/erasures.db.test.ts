import { randomUUID } from "node:crypto";
import { createLogger } from "@parley/service-kit";
import { expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { insertSessions } from "../testing/sessions.ts";
import { rpcFailure, useTestSystem } from "../testing/system.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { openTurn } from "../turns/open-turn.store.ts";
import { VisitorEraser } from "./erasures.worker.ts";

const system = useTestSystem();
const log = createLogger("test", "silent");

const erase = (workspaceId: string, visitorId: string, requestId: string = randomUUID()) =>
  system.sessions.eraseVisitor({ workspaceId, visitorId, requestId }, { timeoutMs: 10_000 });

const runEraser = () =>
  new VisitorEraser({
    database: system.database,
    notifySettler: () => undefined,
    closingSignal: new AbortController().signal,
    log,
  }).run();

async function countRequests(workspaceId: string) {
  return (await system.admin.query("SELECT FROM conversation.erasures WHERE workspace_id = $1", [workspaceId]))
    .rowCount;
}

/** Backdates every request by 61 s, because the eraser keeps each request for at least a minute. */
const ageRequests = () =>
  system.admin.query("UPDATE conversation.erasures SET requested_at = requested_at - interval '61 seconds'");

/** Returns the ids of the sessions with messages in the bot's workspace. */
async function sessionsWithContent(bot: Bot) {
  const { rows } = await system.admin.query(
    "SELECT DISTINCT session_id AS id FROM conversation.messages WHERE workspace_id = $1",
    [bot.workspaceId],
  );
  return new Set(rows.map((row) => row.id));
}

async function statusOf({ turnId }: { turnId: string }) {
  return (await system.admin.query("SELECT status FROM conversation.turns WHERE turn_id = $1", [turnId])).rows;
}

test("EraseVisitor erases every session of the visitor, even a deleted one or one with an open turn, and then deletes the request", async () => {
  const [bot, foreignBot] = [await createBot(system.database), await createBot(system.database)];
  const mine = newTurn(bot, { visitorId: "v" });
  const [kept, foreign] = [newTurn(bot, { visitorId: "w" }), newTurn(foreignBot, { visitorId: "v" })];
  for (const turn of [mine, kept, foreign]) await runTurn(system.database, turn);
  const anonymous = newTurn(bot);
  await runTurn(system.database, anonymous);
  const open = newTurn(bot, { visitorId: "v" });
  await openTurn(system.database, open);
  const deleted = newTurn(bot, { visitorId: "v" });
  await runTurn(system.database, deleted);
  await system.admin.query("UPDATE conversation.sessions SET deleted_at = now() WHERE session_id = $1", [
    deleted.sessionId,
  ]);
  const requestId = randomUUID();
  expect(await erase(bot.workspaceId, "v", requestId)).toMatchObject({ sessions: 3n });
  await expect
    .poll(() => sessionsWithContent(bot), { timeout: 10_000 })
    .toEqual(new Set([kept.sessionId, anonymous.sessionId]));
  expect(await sessionsWithContent(foreignBot)).toEqual(new Set([foreign.sessionId]));
  expect(await openTurn(system.database, newTurn(bot, { sessionId: mine.sessionId }))).toBeUndefined();
  expect(await erase(bot.workspaceId, "v", requestId)).toMatchObject({ sessions: 0n });
  expect(await countRequests(bot.workspaceId)).toBe(1);
  await runEraser();
  expect(await countRequests(bot.workspaceId)).toBe(1);
  await ageRequests();
  await runEraser();
  expect(await countRequests(bot.workspaceId)).toBe(0);
  expect(await statusOf(mine)).toEqual([{ status: "done" }]);
  expect(await statusOf(open)).toEqual([{ status: "cancelled" }]);
});

test("EraseVisitor erases a session that started before the request but is stored after it, and keeps a session that started later", async () => {
  const bot = await createBot(system.database);
  const { workspaceId } = bot;
  await erase(workspaceId, "v");
  const startedBefore = newTurn(bot, { visitorId: "v" });
  const startedAfter = newTurn(bot, { visitorId: "v" });
  await runTurn(system.database, startedBefore);
  await runTurn(system.database, startedAfter);
  await system.admin.query(
    "UPDATE conversation.sessions SET started_at = started_at - interval '1 minute' WHERE session_id = $1",
    [startedBefore.sessionId],
  );
  await runEraser();
  expect(await sessionsWithContent(bot)).toEqual(new Set([startedAfter.sessionId]));
  await ageRequests();
  await runEraser();
  expect(await countRequests(workspaceId)).toBe(0);
  expect(await sessionsWithContent(bot)).toEqual(new Set([startedAfter.sessionId]));
});

test("EraseVisitor erases a session that was stored before the database's clock was set back", async () => {
  const bot = await createBot(system.database);
  const turn = newTurn(bot, { visitorId: "v" });
  await runTurn(system.database, turn);
  await system.admin.query(
    "UPDATE conversation.sessions SET started_at = started_at + interval '1 hour' WHERE session_id = $1",
    [turn.sessionId],
  );
  await erase(bot.workspaceId, "v");
  await runEraser();
  expect(await sessionsWithContent(bot)).toEqual(new Set());
});

test("an erasure continues after a session that cannot be erased, and another replica completes it", async () => {
  const bot = await createBot(system.database);
  const { workspaceId } = bot;
  const ids = await insertSessions(system.admin, bot, { sessions: 120 });
  await system.admin.query("UPDATE conversation.sessions SET visitor_id = 'v' WHERE workspace_id = $1", [workspaceId]);
  await system.admin.query(`
    CREATE FUNCTION refuse_erasure() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
    CREATE TRIGGER refuse_erasure BEFORE DELETE ON conversation.messages FOR EACH ROW
      WHEN (OLD.session_id = '${ids[5]}') EXECUTE FUNCTION refuse_erasure()`);
  expect(await erase(workspaceId, "v")).toMatchObject({ sessions: 120n });
  await expect.poll(() => sessionsWithContent(bot), { timeout: 20_000 }).toEqual(new Set([ids[5]]));
  await ageRequests();
  await runEraser();
  expect(await countRequests(workspaceId)).toBe(1);
  await system.admin.query("DROP TRIGGER refuse_erasure ON conversation.messages; DROP FUNCTION refuse_erasure");
  await runEraser();
  expect(await sessionsWithContent(bot)).toEqual(new Set());
  await runEraser();
  expect(await countRequests(workspaceId)).toBe(0);
});

test("if more than one batch of a visitor's sessions fails, the visitor's other sessions are still erased", async () => {
  const bot = await createBot(system.database);
  const { workspaceId } = bot;
  const ids = await insertSessions(system.admin, bot, { sessions: 180 });
  await system.admin.query("UPDATE conversation.sessions SET visitor_id = 'v' WHERE workspace_id = $1", [workspaceId]);
  const refused = ids.slice(60);
  await system.admin.query(`
    CREATE FUNCTION refuse_erasure() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
    CREATE TRIGGER refuse_erasure BEFORE DELETE ON conversation.messages FOR EACH ROW
      WHEN (OLD.session_id = ANY ('{${refused}}')) EXECUTE FUNCTION refuse_erasure()`);
  try {
    await erase(workspaceId, "v");
    await expect.poll(() => sessionsWithContent(bot), { timeout: 20_000 }).toEqual(new Set(refused));
    await ageRequests();
    await runEraser();
    expect(await countRequests(workspaceId)).toBe(1);
  } finally {
    await system.admin.query("DROP TRIGGER refuse_erasure ON conversation.messages; DROP FUNCTION refuse_erasure");
  }
  await runEraser();
  expect(await sessionsWithContent(bot)).toEqual(new Set());
});

test("a request is completed even if more than one page of other requests is still incomplete", async () => {
  const bot = await createBot(system.database);
  const turn = newTurn(bot, { visitorId: "v" });
  await runTurn(system.database, turn);
  const store = (visitorId: string, requests: number, age: string) =>
    system.admin.query(
      `INSERT INTO conversation.erasures (workspace_id, request_id, visitor_id, requested_at)
       SELECT $1, gen_random_uuid(), $2, now() - $4::interval FROM generate_series(1, $3)`,
      [bot.workspaceId, visitorId, requests, age],
    );
  await store("w", 1_001, "20 seconds");
  await store("v", 1, "0 seconds");
  await runEraser();
  expect(await sessionsWithContent(bot)).toEqual(new Set());
  await ageRequests();
  await runEraser();
  expect(await countRequests(bot.workspaceId)).toBe(0);
}, 60_000);

test.each<[string, string, string, string?]>([
  ["visitor_id", "", randomUUID()],
  ["visitor_id", "a\0b", randomUUID()],
  ["visitor_id", "x".repeat(1_025), randomUUID()],
  ["request_id", "v", "1"],
  ["workspace_id", "v", randomUUID(), ""],
  ["workspace_id", "v", randomUUID(), "no such workspace"],
])("EraseVisitor refuses an invalid %s", async (field, visitorId, requestId, workspaceId = "ws_1") => {
  expect(await rpcFailure(erase(workspaceId, visitorId, requestId))).toMatchObject({
    code: "invalid_argument",
    message: expect.stringContaining(field),
  });
});

test("EraseVisitor finds no sessions in an unknown workspace", async () => {
  expect(await erase(`ws_${randomUUID()}`, "v")).toMatchObject({ sessions: 0n });
});

test("EraseVisitor refuses a request id that belongs to another visitor's erasure, and stores nothing", async () => {
  const { workspaceId } = await createBot(system.database);
  const requestId = randomUUID();
  await erase(workspaceId, "v", requestId);
  expect(await rpcFailure(erase(workspaceId, "w", requestId))).toMatchObject({ code: "request_id_reused" });
  await erase(workspaceId, "v", requestId);
  const { rows } = await system.admin.query(
    `SELECT (SELECT count(*)::integer FROM conversation.audit_log WHERE workspace_id = $1) AS entries, visitor_id AS visitor
     FROM conversation.erasures WHERE workspace_id = $1`,
    [workspaceId],
  );
  expect(rows).toEqual([{ entries: 1, visitor: "v" }]);
});

test("gRPC does not serve the changes that only the ops port records in the audit log", async () => {
  const { workspaceId } = await createBot(system.database);
  const target = { workspaceId, sessionId: randomUUID() };
  const options = { timeoutMs: 5_000 };
  expect(await rpcFailure(system.sessions.eraseSession(target, options))).toMatchObject({ code: "unimplemented" });
  const review = { ...target, messageId: 1n, review: "good" };
  expect(await rpcFailure(system.sessions.reviewMessage(review, options))).toMatchObject({ code: "unimplemented" });
});

test("EraseVisitor records a member's request once in the audit log, in the transaction that stores the request", async () => {
  const { workspaceId } = await createBot(system.database);
  const request = { workspaceId, visitorId: "v", member: "anna", requestId: randomUUID() };
  const send = () => system.sessions.eraseVisitor(request, { timeoutMs: 10_000 });
  const rename = (from: string, to: string) => system.admin.query(`ALTER TABLE conversation.${from} RENAME TO ${to}`);
  await rename("audit_log", "audit_log_away");
  try {
    await rpcFailure(send());
    expect(await countRequests(workspaceId)).toBe(0);
  } finally {
    await rename("audit_log_away", "audit_log");
  }
  await send();
  await send();
  const { rows } = await system.admin.query(
    "SELECT member, method, target FROM conversation.audit_log WHERE workspace_id = $1",
    [workspaceId],
  );
  expect(rows).toEqual([{ member: "anna", method: "SessionAdminService/EraseVisitor", target: {} }]);
});
