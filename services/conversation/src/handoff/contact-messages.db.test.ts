import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { eraseSession } from "../sessions/erase-session.store.ts";
import { exportSession } from "../sessions/export-session.store.ts";
import { deleteSession, findSession } from "../sessions/sessions.store.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { readEventContent } from "../webhooks/event-content.store.ts";
import type { ClaimedDelivery } from "../webhooks/webhook.ts";
import {
  finishContactMessages,
  leaveContactMessage,
  MAX_DAILY_CONTACT_MESSAGES,
  readContactMessage,
} from "./contact-messages.store.ts";
import { requestHandoff, resolveHandoff } from "./handoff.store.ts";
import { listHandoffs } from "./list-handoffs.store.ts";

let db: TestDatabase;
let bot: Bot;
beforeAll(async () => {
  db = await createTestDatabase();
  bot = await createBot(db.database);
});
afterAll(() => db.drop());

type Fields = Partial<Parameters<typeof leaveContactMessage>[1]>;

/** Starts a session with a finished turn, and returns its key. */
async function startSession(fields: Parameters<typeof newTurn>[1] = {}) {
  const turn = newTurn(bot, fields);
  await runTurn(db.database, turn);
  return { workspaceId: bot.workspaceId, sessionId: turn.sessionId };
}

const leave = (sessionId: string, fields: Fields = {}) =>
  leaveContactMessage(db.database, {
    workspaceId: bot.workspaceId,
    sessionId,
    botId: bot.id,
    visitorId: "",
    visitorVerified: false,
    requestId: randomUUID(),
    email: "ada@example.com",
    message: "Please write to me.",
    ...fields,
  });
const rowOf = async (sessionId: string) =>
  (await db.admin.query("SELECT * FROM conversation.sessions WHERE session_id = $1", [sessionId])).rows[0];
const lastIdOf = async (sessionId: string): Promise<string> => (await rowOf(sessionId)).contact_messages.at(-1).id;
const listedIds = async () =>
  (await listHandoffs(db.database, bot.workspaceId, "contact")).map(({ id, contact }) => [id, contact?.email]);

test("a contact message is stored once, also if its request is repeated at the same time", async () => {
  const { sessionId } = await startSession();
  const requestId = randomUUID();
  const results = await Promise.all(Array.from({ length: 10 }, () => leave(sessionId, { requestId })));
  expect(results.filter((each) => each?.result === "stored")).toHaveLength(1);
  expect(results.filter((each) => each?.result === "repeated")).toHaveLength(9);
  expect(results.every((each) => each?.handoff.state === "bot")).toBe(true);
  const { contactMessages, contactPending } = (await findSession(db.database, bot.workspaceId, sessionId)) ?? {};
  expect(contactMessages).toEqual([
    {
      id: requestId,
      email: "ada@example.com",
      message: "Please write to me.",
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{6}\+00:00$/),
    },
  ]);
  expect(contactPending).toBe(true);
});

test("a session has at most 3 contact messages, also if they are sent at the same time", async () => {
  const { sessionId } = await startSession();
  const results = await Promise.all(Array.from({ length: 8 }, () => leave(sessionId)));
  expect(results.map((each) => each?.result).toSorted()).toEqual([
    ...Array.from({ length: 5 }, () => "limit_reached"),
    ...Array.from({ length: 3 }, () => "stored"),
  ]);
  expect((await rowOf(sessionId)).contact_messages).toHaveLength(3);
});

test("a workspace has at most 1,000 messages of a UTC day, in any number of sessions", async () => {
  const own = await createBot(db.database);
  const { workspaceId } = own;
  const startOwn = async () => {
    const turn = newTurn(own);
    await runTurn(db.database, turn);
    return turn.sessionId;
  };
  const fields = { workspaceId, botId: own.id };
  const first = await startOwn();
  const requestId = randomUUID();
  for (const result of ["stored", "repeated"])
    expect(await leave(first, { ...fields, requestId })).toMatchObject({ result });
  const { rows } = await db.admin.query(
    "UPDATE conversation.refusal_counts SET turns = $2 WHERE workspace_id = $1 AND turns = 1 RETURNING outcome",
    [workspaceId, MAX_DAILY_CONTACT_MESSAGES - 1],
  );
  expect(rows).toEqual([{ outcome: "contact" }]);
  expect(await leave(await startOwn(), fields)).toMatchObject({ result: "stored" });
  const refused = await startOwn();
  expect(await leave(refused, fields)).toMatchObject({ result: "daily_limit_reached" });
  expect(await rowOf(refused)).toMatchObject({ contact_messages: null, contact_at: null });
  expect(await leave(first, { ...fields, requestId })).toMatchObject({ result: "repeated" });
  await db.admin.query("UPDATE conversation.refusal_counts SET day = day - 1 WHERE workspace_id = $1", [workspaceId]);
  expect(await leave(refused, fields)).toMatchObject({ result: "stored" });
});

test("another bot's, another verified visitor's, a deleted, an erased and an unknown session stores nothing", async () => {
  const verified = await startSession({ visitorId: "v", visitorVerified: true });
  const playground = await startSession({ source: "playground" });
  const [open, deleted, erased] = [await startSession(), await startSession(), await startSession()];
  await deleteSession(db.database, bot.workspaceId, deleted.sessionId);
  await eraseSession(db.database, bot.workspaceId, erased.sessionId);
  expect(await leave(open.sessionId, { botId: randomUUID() })).toBeUndefined();
  for (const { sessionId } of [verified, playground, deleted, erased, { sessionId: randomUUID() }])
    expect(await leave(sessionId)).toBeUndefined();
  expect(await leave(verified.sessionId, { visitorId: "v", visitorVerified: true })).toMatchObject({
    result: "stored",
    handoff: { contactPending: true },
  });
});

test("the team's list has the session, the longest wait first, until the team is done", async () => {
  await db.admin.query("UPDATE conversation.sessions SET contact_at = NULL");
  const [first, second] = [await startSession(), await startSession()];
  const long = "店".repeat(200);
  await leave(first.sessionId, { email: "first@example.com" });
  await leave(second.sessionId);
  await leave(first.sessionId, { email: "corrected@example.com", message: long });
  expect(await listedIds()).toEqual([
    [first.sessionId, "corrected@example.com"],
    [second.sessionId, "ada@example.com"],
  ]);
  const [listed] = await listHandoffs(db.database, bot.workspaceId, "contact");
  expect(listed).toMatchObject({
    handoff: { state: "bot", contactPending: true },
    contact: { message: "店".repeat(160) },
  });

  await requestHandoff(db.database, { ...second, reason: "visitor", waitSeconds: 60, repliesInARow: 0 });
  expect(await listedIds()).toHaveLength(1);
  const [waiting] = await listHandoffs(db.database, bot.workspaceId, "requested");
  expect(waiting).toMatchObject({ id: second.sessionId, contact: { email: "ada@example.com" } });
  await resolveHandoff(db.database, second);

  const contactId = randomUUID();
  await leave(second.sessionId, { requestId: contactId });
  await finishContactMessages(db.database, { ...first, contactId: await lastIdOf(first.sessionId) });
  await finishContactMessages(db.database, { ...second, contactId, workspaceId: "other" });
  expect(await listedIds()).toEqual([[second.sessionId, "ada@example.com"]]);
  expect((await findSession(db.database, bot.workspaceId, first.sessionId))?.contactMessages).toHaveLength(2);
  // A later message opens it again.
  expect(await leave(first.sessionId)).toMatchObject({ result: "stored" });
  expect(await listedIds()).toHaveLength(2);
});

test("the team is done with what it has read: a later message stays open", async () => {
  const session = await startSession();
  const [first, second] = [randomUUID(), randomUUID()];
  await leave(session.sessionId, { requestId: first });
  await leave(session.sessionId, { requestId: second });
  for (const contactId of [first, randomUUID()]) {
    await finishContactMessages(db.database, { ...session, contactId });
    expect((await rowOf(session.sessionId)).contact_at).not.toBeNull();
  }
  await finishContactMessages(db.database, { ...session, contactId: second });
  expect((await rowOf(session.sessionId)).contact_at).toBeNull();
});

test("a message that arrives while the team finishes the previous one stays open", async () => {
  for (let round = 0; round < 10; round++) {
    const session = await startSession();
    const contactId = randomUUID();
    await leave(session.sessionId, { requestId: contactId });
    await Promise.all([
      leave(session.sessionId),
      finishContactMessages(db.database, { ...session, contactId }),
      finishContactMessages(db.database, { ...session, contactId }),
    ]);
    expect((await rowOf(session.sessionId)).contact_at).not.toBeNull();
  }
});

test("an erasure removes the messages, and the event's content with them", async () => {
  const { workspaceId, sessionId } = await startSession();
  const contactId = randomUUID();
  await leave(sessionId, { requestId: contactId });
  const ids = { workspaceId, sessionId, contactId };
  const event = { workspaceId, sessionId, type: "handoff.contact", data: { contact_id: contactId } } as unknown;
  const content = { email: "ada@example.com", message: "Please write to me." };
  expect(await readContactMessage(db.database, ids)).toEqual(content);
  expect(await readEventContent(db.database, event as ClaimedDelivery)).toEqual(content);
  expect(await readContactMessage(db.database, { ...ids, workspaceId: "other" })).toBeUndefined();
  await eraseSession(db.database, workspaceId, sessionId);
  expect(await rowOf(sessionId)).toMatchObject({ contact_messages: null, contact_at: null });
  expect(JSON.stringify(await rowOf(sessionId))).not.toContain("ada@example.com");
  expect(await readContactMessage(db.database, ids)).toBeUndefined();
  expect(await readEventContent(db.database, event as ClaimedDelivery)).toEqual({});
});

test("the event is recorded with the message, without its text and address", async () => {
  const own = await createBot(db.database);
  const turn = newTurn(own);
  await runTurn(db.database, turn);
  await db.admin.query(
    `INSERT INTO conversation.webhook_endpoints (workspace_id, endpoint_id, url, types, include_content, secret)
     VALUES ($1, gen_random_uuid(), 'https://a.example/', '{handoff.contact}', false, 'x')`,
    [own.workspaceId],
  );
  const requestId = randomUUID();
  const message = { workspaceId: own.workspaceId, botId: own.id, requestId };
  for (let n = 0; n < 2; n++) await leave(turn.sessionId, message);
  const { rows } = await db.admin.query(
    "SELECT type, session_id, data FROM conversation.events WHERE workspace_id = $1",
    [own.workspaceId],
  );
  const data = { bot_slug: own.slug, session_id: turn.sessionId, contact_id: requestId };
  expect(rows).toEqual([{ type: "handoff.contact", session_id: turn.sessionId, data }]);
});

test("the transcript does not have the messages, and the owner's exports do", async () => {
  const { workspaceId, sessionId } = await startSession();
  await leave(sessionId);
  const read = async (options: Parameters<typeof exportSession>[3]) => {
    let json = "";
    for await (const piece of exportSession(db.database, workspaceId, sessionId, options)) json += piece;
    return JSON.parse(json).session;
  };
  expect(await read({})).not.toHaveProperty("contact_messages");
  const exported = { contact_messages: [{ email: "ada@example.com", message: "Please write to me." }] };
  expect(await read({ withReviews: true })).toMatchObject(exported);
  expect(await read({ withReviews: true, withVerification: true })).toMatchObject(exported);
});
