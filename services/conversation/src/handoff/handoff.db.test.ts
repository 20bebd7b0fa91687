import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { eraseSession } from "../sessions/erase-session.store.ts";
import { exportSession } from "../sessions/export-session.store.ts";
import { rateMessage } from "../sessions/messages.store.ts";
import { deleteSession } from "../sessions/sessions.store.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { createBot, newClosing, newTurn, runTurn } from "../testing/turns.ts";
import { closeTurn } from "../turns/close-turn.store.ts";
import { findKeyedTurn } from "../turns/keyed-turns.store.ts";
import { openHandoffTurn } from "../turns/open-handoff-turn.store.ts";
import { findOpenedTurn, openTurn } from "../turns/open-turn.store.ts";
import {
  assignHandoff,
  expireHandoff,
  listExpired,
  readHandoffState,
  requestHandoff,
  resolveHandoff,
  takeHandoff,
} from "./handoff.store.ts";
import { readHandoff, storeAgentMessage } from "./handoff-messages.store.ts";
import { listHandoffs } from "./list-handoffs.store.ts";

let db: TestDatabase;
let bot: Bot;
beforeAll(async () => {
  db = await createTestDatabase();
  bot = await createBot(db.database);
});
afterAll(() => db.drop());

const ANNA = { id: "a1", name: "Anna" };
const BEN = { id: "b2", name: "Ben" };
const WAIT = { waitSeconds: 180, repliesInARow: 0 };

const rowsOf = async (sql: string, ...values: unknown[]) => (await db.admin.query(sql, values)).rows;
const sessionKey = (sessionId: string) => ({ workspaceId: bot.workspaceId, sessionId });
const visitorOf = (sessionId: string) => ({
  ...sessionKey(sessionId),
  botId: bot.id,
  visitorId: "",
  visitorVerified: false,
});

/** Starts a session with a finished turn. */
async function startSession(): Promise<string> {
  const turn = newTurn(bot);
  await runTurn(db.database, turn);
  return turn.sessionId;
}

const request = (sessionId: string, fields: Partial<Parameters<typeof requestHandoff>[1]> = {}) =>
  requestHandoff(db.database, { ...sessionKey(sessionId), reason: "visitor", ...WAIT, ...fields });
const say = (sessionId: string, text: string, agent = ANNA, requestId: string = randomUUID()) =>
  storeAgentMessage(db.database, {
    ...sessionKey(sessionId),
    requestId,
    text,
    agentId: agent.id,
    agentName: agent.name,
  });
/** Stores a visitor's message as OpenTurn does. */
const write = async (sessionId: string, message: string, fields: Parameters<typeof newTurn>[1] = {}) => {
  const turn = newTurn(bot, { sessionId, message, ...fields });
  return { turn, handedOff: await openHandoffTurn(db.database, turn), opened: await openTurn(db.database, turn) };
};
const stateOf = async (sessionId: string) => (await readHandoffState(db.database, sessionKey(sessionId)))?.state;

/** Checks that the turns and the messages of all sessions agree. */
async function expectConsistent() {
  // A closed turn is in the outbox exactly if it streamed; a turn of a handoff has no reply, all others have one.
  expect(
    await rowsOf(`SELECT t.turn_id FROM conversation.turns t JOIN conversation.sessions s USING (workspace_id, session_id)
      LEFT JOIN conversation.messages r ON r.workspace_id = t.workspace_id AND r.session_id = t.session_id AND r.message_id = t.message_id
      WHERE s.erased_at IS NULL AND (t.status = 'handoff') <> (r.message_id IS NULL)`),
  ).toEqual([]);
  expect(
    await rowsOf(`SELECT t.turn_id FROM conversation.turns t LEFT JOIN conversation.outbox o USING (workspace_id, turn_id)
      WHERE t.status NOT IN ('streaming', 'blocked') AND (t.status = 'handoff') <> (o.turn_id IS NULL)`),
  ).toEqual([]);
  expect(
    await rowsOf(`SELECT s.session_id FROM conversation.sessions s WHERE s.erased_at IS NULL AND s.message_count <> (
      SELECT count(*) FROM conversation.messages m WHERE m.workspace_id = s.workspace_id AND m.session_id = s.session_id)`),
  ).toEqual([]);
}

describe("the states of a session", () => {
  test("a session goes from the bot to a request, to an agent and back, and tells how long the visitor waited", async () => {
    const sessionId = await startSession();
    expect(await readHandoffState(db.database, sessionKey(sessionId))).toMatchObject({ state: "bot", reason: "" });
    const requested = await request(sessionId);
    expect(requested?.handoff).toMatchObject({ state: "requested", reason: "visitor", agentId: null });
    expect(requested?.handoff.expiresInMs).toBeGreaterThan(170_000);
    expect(await request(sessionId, { reason: "model" })).toBeUndefined();
    const taken = await takeHandoff(db.database, sessionKey(sessionId), ANNA);
    expect(taken?.handoff).toMatchObject({ state: "assigned", reason: "taken", agentId: "a1", agentName: "Anna" });
    expect(taken?.waitMs).toBeGreaterThanOrEqual(0);
    expect(await takeHandoff(db.database, sessionKey(sessionId), ANNA)).toBeUndefined();
    expect(await takeHandoff(db.database, sessionKey(sessionId), BEN)).toBeUndefined();
    const assigned = await assignHandoff(db.database, sessionKey(sessionId), BEN);
    expect(assigned).toMatchObject({ handoff: { state: "assigned", reason: "assigned", agentId: "b2" }, waitMs: null });
    const resolved = await resolveHandoff(db.database, sessionKey(sessionId));
    expect(resolved?.handoff).toMatchObject({ state: "bot", reason: "resolved", agentName: "Ben", expiresInMs: 0 });
    expect(await resolveHandoff(db.database, sessionKey(sessionId))).toBeUndefined();
    const changes = [requested, taken, assigned, resolved].map((change) => change?.handoff.changedAtMicroseconds ?? 0);
    expect(changes).toEqual(changes.toSorted((a, b) => a - b));
    expect(new Set(changes).size).toBe(4);
  });

  test("a request for which nobody comes expires once, and a takeover in time wins", async () => {
    const missed = await startSession();
    const taken = await startSession();
    const deleted = await startSession();
    for (const sessionId of [deleted, missed, taken]) await request(sessionId, { waitSeconds: 0 });
    await deleteSession(db.database, bot.workspaceId, deleted);
    await takeHandoff(db.database, sessionKey(taken), ANNA);
    expect((await listExpired(db.database, 100)).map(({ sessionId }) => sessionId)).toEqual([missed]);
    expect((await expireHandoff(db.database, sessionKey(missed)))?.handoff).toMatchObject({
      state: "bot",
      reason: "missed",
    });
    expect(await expireHandoff(db.database, sessionKey(missed))).toBeUndefined();
    expect(await expireHandoff(db.database, sessionKey(taken))).toBeUndefined();
    expect(await stateOf(taken)).toBe("assigned");
  });

  test("a session without an answer for 30 minutes, or in which nobody writes for 4 hours, goes back to the bot", async () => {
    const expire = async (sessionId: string) => (await expireHandoff(db.database, sessionKey(sessionId)))?.handoff;
    const listed = async (sessionId: string) =>
      (await listExpired(db.database, 1_000)).some((each) => each.sessionId === sessionId);
    /** Moves the times of the session into the past. */
    const wait = async (sessionId: string, minutes: number) => {
      const times = ["handoff_at", "handoff_expires_at", "last_activity_at"].map(
        (name) => `${name} = ${name} - make_interval(mins => $2)`,
      );
      await rowsOf(`UPDATE conversation.sessions SET ${times} WHERE session_id = $1`, sessionId, minutes);
    };
    const expectKept = async (sessionId: string) => {
      expect(await listed(sessionId)).toBe(false);
      expect(await expire(sessionId)).toBeUndefined();
    };

    const unanswered = await startSession();
    await takeHandoff(db.database, sessionKey(unanswered), ANNA);
    await wait(unanswered, 200);
    await write(unanswered, "Hello?");
    await wait(unanswered, 29);
    await write(unanswered, "Are you there?");
    await expectKept(unanswered);
    await say(unanswered, "Yes.");
    await wait(unanswered, 60);
    await expectKept(unanswered);
    await write(unanswered, "Good.");
    await wait(unanswered, 29);
    await write(unanswered, "Still there?");
    await wait(unanswered, 1);
    expect(await listed(unanswered)).toBe(true);
    expect(await expire(unanswered)).toMatchObject({ state: "bot", reason: "unanswered", agentName: "Anna" });
    expect(await expire(unanswered)).toBeUndefined();
    expect((await write(unanswered, "And now?")).opened).toBeDefined();

    const taken = await startSession();
    await request(taken);
    await takeHandoff(db.database, sessionKey(taken), ANNA);
    await wait(taken, 29);
    await expectKept(taken);
    // The colleague gets as long.
    await assignHandoff(db.database, sessionKey(taken), BEN);
    await wait(taken, 29);
    await expectKept(taken);
    await wait(taken, 1);
    expect(await expire(taken)).toMatchObject({ reason: "unanswered", agentName: "Ben" });

    const inactive = await startSession();
    await takeHandoff(db.database, sessionKey(inactive), ANNA);
    await say(inactive, "Hello?");
    await wait(inactive, 239);
    await expectKept(inactive);
    await wait(inactive, 1);
    expect(await listed(inactive)).toBe(true);
    expect(await expire(inactive)).toMatchObject({ state: "bot", reason: "inactive", agentName: "Anna" });
    expect(await say(inactive, "Too late")).toBeUndefined();
  });

  test("sessions of the playground, deleted, erased and unknown ones have no state and cannot be taken", async () => {
    const playground = newTurn(bot, { source: "playground" });
    await runTurn(db.database, playground);
    const [deleted, erased] = [await startSession(), await startSession()];
    await deleteSession(db.database, bot.workspaceId, deleted);
    await eraseSession(db.database, bot.workspaceId, erased);
    for (const sessionId of [playground.sessionId, deleted, erased, randomUUID()]) {
      expect(await request(sessionId)).toBeUndefined();
      expect(await takeHandoff(db.database, sessionKey(sessionId), ANNA)).toBeUndefined();
      expect(await stateOf(sessionId)).toBeUndefined();
      expect(await say(sessionId, "Hi")).toBeUndefined();
    }
  });

  test("an erasure removes the agent and the messages", async () => {
    const sessionId = await startSession();
    await takeHandoff(db.database, sessionKey(sessionId), ANNA);
    await say(sessionId, "I am Anna.");
    await eraseSession(db.database, bot.workspaceId, sessionId);
    const [row] = await rowsOf("SELECT * FROM conversation.sessions WHERE session_id = $1", sessionId);
    expect(row).toMatchObject({ handoff_state: null, handoff_reason: null, agent_id: null, agent_name: null });
    expect(await rowsOf("SELECT FROM conversation.messages WHERE session_id = $1", sessionId)).toEqual([]);
  });

  test("the lists have the sessions that wait or have an agent, with the visitor's last message", async () => {
    const owner = await createBot(db.database);
    const start = async (message: string) => {
      const turn = newTurn(owner, { message, visitorId: "v" });
      await runTurn(db.database, turn);
      return { workspaceId: owner.workspaceId, sessionId: turn.sessionId };
    };
    const [first, second] = [await start("First?"), await start("Second?")];
    for (const session of [first, second])
      await requestHandoff(db.database, { ...session, reason: "visitor", ...WAIT });
    expect(await listHandoffs(db.database, owner.workspaceId, "requested")).toMatchObject([
      { id: first.sessionId, botSlug: owner.slug, visitorId: "v", excerpt: "First?", handoff: { state: "requested" } },
      { id: second.sessionId, excerpt: "Second?" },
    ]);
    await takeHandoff(db.database, first, ANNA);
    expect(await listHandoffs(db.database, owner.workspaceId, "assigned")).toMatchObject([
      { id: first.sessionId, handoff: { agentName: "Anna" } },
    ]);
  });
});

describe("messages", () => {
  test("a visitor's message is stored without a reply while the session waits and while it has an agent", async () => {
    const sessionId = await startSession();
    expect((await write(sessionId, "To the bot")).handedOff).toBeUndefined();
    await request(sessionId);
    const waiting = await write(sessionId, "Anybody?");
    expect(waiting).toMatchObject({ handedOff: { handoff: { state: "requested" } }, opened: undefined });
    await takeHandoff(db.database, sessionKey(sessionId), ANNA);
    const written = await write(sessionId, "Hello Anna");
    expect(written).toMatchObject({ handedOff: { handoff: { state: "assigned" } }, opened: undefined });
    const [turn] = await rowsOf("SELECT * FROM conversation.turns WHERE turn_id = $1", written.turn.turnId);
    expect(turn).toMatchObject({ status: "handoff", model: "", message_id: written.handedOff?.messageId, month: null });
    const stored = await rowsOf("SELECT * FROM conversation.messages WHERE turn_id = $1", written.turn.turnId);
    expect(stored).toMatchObject([{ role: "user", content: "Hello Anna", message_id: turn.message_id - 1 }]);
    await closeTurn(db.database, newClosing(newTurn(bot, { turnId: turn.turn_id })));
    await expectConsistent();
  });

  test("a repeated message is stored once, also with an idempotency key", async () => {
    const sessionId = await startSession();
    await takeHandoff(db.database, sessionKey(sessionId), ANNA);
    const keyHash = Buffer.from("key");
    const { turn, handedOff } = await write(sessionId, "Once", { keyHash, requestHash: Buffer.from("h") });
    expect(await openHandoffTurn(db.database, turn)).toBeUndefined();
    expect(await openHandoffTurn(db.database, { ...turn, turnId: randomUUID() })).toBeUndefined();
    expect(await findOpenedTurn(db.database, bot.workspaceId, turn.turnId)).toMatchObject({
      messageId: handedOff?.messageId,
      message: "Once",
      history: [],
      handoff: { state: "assigned" },
    });
    const search = { ...visitorOf(sessionId), source: "widget", keyHash };
    expect(await findKeyedTurn(db.database, search)).toMatchObject({
      turn: { status: "handoff", content: "", model: "", messageId: handedOff?.messageId },
      runningCount: 0,
    });
  });

  test("an agent's message is stored once, only for the agent who has the session", async () => {
    const sessionId = await startSession();
    expect(await say(sessionId, "Too early")).toBeUndefined();
    await request(sessionId);
    expect(await say(sessionId, "Still too early")).toBeUndefined();
    await takeHandoff(db.database, sessionKey(sessionId), ANNA);
    const requestId = randomUUID();
    const ids = await Promise.all(Array.from({ length: 20 }, () => say(sessionId, "Hello", ANNA, requestId)));
    expect(new Set(ids).size).toBe(1);
    expect(await say(sessionId, "I am Ben", BEN)).toBeUndefined();
    await resolveHandoff(db.database, sessionKey(sessionId));
    expect(await say(sessionId, "Too late")).toBeUndefined();
    expect(await say(sessionId, "Hello", ANNA, requestId)).toBe(ids[0]);
    expect(
      await rowsOf("SELECT * FROM conversation.messages WHERE session_id = $1 AND agent_name IS NOT NULL", sessionId),
    ).toMatchObject([
      { role: "assistant", model: "human:a1", status: "done", tokens_in: 0, tokens_out: 0, content: "Hello" },
    ]);
    await expectConsistent();
  });

  test("an agent's message cannot be rated", async () => {
    const sessionId = await startSession();
    await takeHandoff(db.database, sessionKey(sessionId), ANNA);
    const messageId = String(await say(sessionId, "Hello"));
    const target = { ...sessionKey(sessionId), botId: bot.id, messageId, rating: "up" };
    expect(await rateMessage(db.database, target)).toBe(false);
  });

  test("a reader gets the messages of people and to them, once and in order, and not the bot's turns", async () => {
    const sessionId = await startSession();
    await takeHandoff(db.database, sessionKey(sessionId), ANNA);
    await write(sessionId, "one");
    await say(sessionId, "two");
    const first = await readHandoff(db.database, visitorOf(sessionId), 0n);
    expect(first).toMatchObject({
      handoff: { state: "assigned" },
      hasMore: false,
      messages: [
        { content: "one", agentName: null },
        { content: "two", agentName: "Anna", model: "human:a1" },
      ],
    });
    for (let n = 0; n < 60; n++) await say(sessionId, `more ${n}`);
    const read: string[] = [];
    for (let position = BigInt(first?.position ?? 0), hasMore = true; hasMore; ) {
      const page = await readHandoff(db.database, visitorOf(sessionId), position);
      read.push(...(page?.messages ?? []).map(({ content }) => content));
      position = BigInt(page?.position ?? 0);
      hasMore = page?.hasMore ?? false;
    }
    expect(read).toEqual(Array.from({ length: 60 }, (_, n) => `more ${n}`));
    const other = { ...visitorOf(sessionId), visitorId: "x", visitorVerified: true };
    expect(await readHandoff(db.database, { ...other, botId: randomUUID() }, 0n)).toBeUndefined();
  });

  test("back at the bot, the prompt's history has what the visitor and the agent wrote", async () => {
    const sessionId = await startSession();
    await request(sessionId);
    await write(sessionId, "Anybody?");
    await takeHandoff(db.database, sessionKey(sessionId), ANNA);
    await say(sessionId, "I am here.");
    await say(sessionId, "What is it?");
    await write(sessionId, "My order 17");
    await resolveHandoff(db.database, sessionKey(sessionId));
    const { opened } = await write(sessionId, "Thanks");
    expect(opened?.history).toEqual([
      { message: "Hello?", reply: "Hi." },
      { message: "Anybody?", reply: "" },
      { message: "", reply: "I am here." },
      { message: "", reply: "What is it?" },
      { message: "My order 17", reply: "" },
    ]);
  });

  test("the export has all messages in order, in the contract's shape", async () => {
    const sessionId = await startSession();
    await takeHandoff(db.database, sessionKey(sessionId), ANNA);
    await write(sessionId, "My order 17");
    await say(sessionId, "It is on its way.");
    let json = "";
    for await (const piece of exportSession(db.database, bot.workspaceId, sessionId)) json += piece;
    const { messages } = JSON.parse(json) as { messages: Record<string, unknown>[] };
    expect(messages.map(({ role, content, model }) => [role, content, model])).toEqual([
      ["user", "Hello?", ""],
      ["assistant", "Hi.", "builtin:extractive"],
      ["user", "My order 17", ""],
      ["assistant", "It is on its way.", "human:a1"],
    ]);
    const keys = messages.map((message) => Object.keys(message).join());
    expect(new Set(keys).size).toBe(1);
  });
});

describe("rules", () => {
  const reply = (sessionId: string, finishDetail: "" | "declined") =>
    runTurn(db.database, newTurn(bot, { sessionId }), { finishDetail });

  test("a person is asked for after so many replies without an answer in a row, and not again after an agent", async () => {
    const sessionId = await startSession();
    const ask = () => request(sessionId, { reason: "declined", repliesInARow: 2 });
    await reply(sessionId, "declined");
    expect(await ask()).toBeUndefined();
    await reply(sessionId, "");
    await reply(sessionId, "declined");
    expect(await ask()).toBeUndefined();
    await reply(sessionId, "declined");
    expect((await ask())?.handoff.reason).toBe("declined");
    await takeHandoff(db.database, sessionKey(sessionId), ANNA);
    await resolveHandoff(db.database, sessionKey(sessionId));
    await reply(sessionId, "declined");
    expect(await ask()).toBeUndefined();
  });

  test("a person is asked for after so many bad ratings in a row", async () => {
    const sessionId = await startSession();
    const ids = [await reply(sessionId, ""), await reply(sessionId, "")];
    const rate = (messageId: number | undefined) =>
      rateMessage(db.database, {
        ...sessionKey(sessionId),
        botId: bot.id,
        messageId: String(messageId),
        rating: "down",
      });
    const ask = () => request(sessionId, { reason: "badly_rated", repliesInARow: 2 });
    await rate(ids[1]);
    expect(await ask()).toBeUndefined();
    await rate(ids[0]);
    expect((await ask())?.handoff.reason).toBe("badly_rated");
  });
});

describe("races have one winner", () => {
  test("of many agents who take a session at once, one gets it", async () => {
    const sessionId = await startSession();
    await request(sessionId);
    const agents = Array.from({ length: 20 }, (_, n) => ({ id: `agent-${n}`, name: `Agent ${n}` }));
    const takes = await Promise.all(agents.map((agent) => takeHandoff(db.database, sessionKey(sessionId), agent)));
    const winners = takes.filter((take) => take !== undefined);
    expect(winners).toHaveLength(1);
    expect(await readHandoffState(db.database, sessionKey(sessionId))).toMatchObject({
      agentId: winners[0]?.handoff.agentId,
    });
  });
});
