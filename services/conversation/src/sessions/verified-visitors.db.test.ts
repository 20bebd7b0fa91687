import { randomBytes, randomUUID } from "node:crypto";
import { status } from "@parley/rpc";
import { expect, test } from "vitest";
import { rpcFailure, useTestSystem } from "../testing/system.ts";
import { createBot, newClosing, newOpenRequest } from "../testing/turns.ts";
import { closeTurn } from "../turns/close-turn.store.ts";

const system = useTestSystem();

type Visitor = { visitorId: string; visitorVerified: boolean };
const nobody = { visitorId: "", visitorVerified: false };
const claimed = (visitorId: string) => ({ visitorId, visitorVerified: false });
const verified = (visitorId: string) => ({ visitorId, visitorVerified: true });

/** The session's visitor, the request's, and the session's after it; or the code with which the request is refused. */
const ROWS: [Visitor, Visitor, Visitor | "not_found" | "visitor_mismatch"][] = [
  [nobody, nobody, nobody],
  [nobody, claimed("x"), claimed("x")],
  [nobody, verified("x"), verified("x")],
  [claimed("x"), nobody, claimed("x")],
  [claimed("x"), claimed("x"), claimed("x")],
  [claimed("x"), claimed("y"), claimed("y")],
  [claimed("x"), verified("x"), verified("x")],
  [claimed("x"), verified("y"), "visitor_mismatch"],
  [verified("x"), verified("x"), verified("x")],
  [verified("x"), nobody, "not_found"],
  [verified("x"), claimed("x"), "not_found"],
  [verified("x"), claimed("y"), "not_found"],
  [verified("x"), verified("y"), "not_found"],
  [verified("x"), verified("X"), "not_found"],
];

async function readSession(sessionId: string) {
  const { rows } = await system.admin.query(
    `SELECT visitor_id AS "visitorId", visitor_verified AS "visitorVerified", message_count AS messages
     FROM conversation.sessions WHERE session_id = $1`,
    [sessionId],
  );
  return rows[0];
}

test.each(ROWS)("a session of %j and a request of %j: %j", async (first, second, result) => {
  const bot = await createBot(system.database);
  const { workspaceId, id: botId } = bot;
  const sessionId = randomUUID();
  const keyed = { keyHash: randomBytes(32), requestHash: randomBytes(32) };
  const opening = newOpenRequest(bot, { sessionId, ...keyed, ...first });
  const { messageId } = await system.conversation.openTurn(opening, { timeoutMs: 5_000 });
  const options = { timeoutMs: 5_000 };
  const session = { workspaceId, botId, sessionId, ...second };
  const search = { ...session, source: "widget" };
  const open = (more = {}) =>
    system.conversation.openTurn(newOpenRequest(bot, { sessionId, ...second, ...more }), options);
  const find = (more: object) => system.conversation.findTurn({ ...search, ...more }, options);
  const rate = () => system.conversation.rateMessage({ ...session, messageId, rating: "up" }, options);

  if (typeof result !== "string") {
    expect((await open(keyed)).existing).toMatchObject({ messageId });
    for (const target of [{ messageId }, { keyHash: keyed.keyHash }])
      expect((await find(target)).turn).toMatchObject({ messageId });
    for (const target of [{}, { keyHash: randomBytes(32) }])
      expect(await rpcFailure(find({ ...target, opensTurn: true }))).toMatchObject({ code: "turn_not_found" });
    await rate();
    await open();
    expect(await readSession(sessionId)).toEqual({ ...result, messages: 4 });
    return;
  }
  const refused = (code: string) =>
    result === "not_found" ? { status: status.NOT_FOUND, code } : { status: status.FAILED_PRECONDITION, code: result };
  const newKey = { keyHash: randomBytes(32), requestHash: randomBytes(32) };
  const reusedKey = { ...keyed, requestHash: randomBytes(32) };
  // With a second running turn, the session has as many keyed turns as may run.
  await system.conversation.openTurn(newOpenRequest(bot, { sessionId, ...first, ...newKey }), options);
  for (const more of [{}, keyed, reusedKey, { keyHash: randomBytes(32), requestHash: randomBytes(32) }])
    expect(await rpcFailure(open(more))).toMatchObject(refused("session_not_found"));
  for (const target of [{ messageId }, { keyHash: keyed.keyHash }, reusedKey, { messageId: 1n }])
    expect(await rpcFailure(find(target))).toMatchObject(refused("turn_not_found"));
  for (const target of [{}, { keyHash: keyed.keyHash }, reusedKey])
    expect(await rpcFailure(find({ ...target, opensTurn: true }))).toMatchObject(refused("session_not_found"));
  expect(await rpcFailure(rate())).toMatchObject(refused("message_not_found"));
  expect(await readSession(sessionId)).toEqual({ ...first, messages: 4 });
  const { rows } = await system.admin.query("SELECT rating FROM conversation.messages WHERE session_id = $1", [
    sessionId,
  ]);
  expect(rows).toEqual(Array(4).fill({ rating: "" }));
});

test("a refusal for another visitor is the one for a session that does not exist, byte for byte", async () => {
  const bot = await createBot(system.database);
  const { workspaceId, id: botId } = bot;
  const opening = newOpenRequest(bot, verified("x"));
  const { messageId } = await system.conversation.openTurn(opening, { timeoutMs: 5_000 });
  for (const visitor of [nobody, claimed("x"), verified("y")]) {
    const failuresOf = async (sessionId: string) => {
      const session = { workspaceId, botId, sessionId, ...visitor };
      return [
        await rpcFailure(
          system.conversation.findTurn({ ...session, source: "widget", messageId }, { timeoutMs: 5_000 }),
        ),
        await rpcFailure(
          system.conversation.rateMessage({ ...session, messageId, rating: "up" }, { timeoutMs: 5_000 }),
        ),
      ];
    };
    expect(await failuresOf(opening.sessionId)).toEqual(await failuresOf(randomUUID()));
  }
});

test("of concurrent first messages with different verified visitors, one opens the session", async () => {
  const bot = await createBot(system.database);
  const sessionId = randomUUID();
  const results = await Promise.all(
    Array.from({ length: 10 }, (_, n) =>
      system.conversation
        .openTurn(newOpenRequest(bot, { sessionId, ...verified(`v${n}`) }), { timeoutMs: 10_000 })
        .then(
          () => "opened",
          ({ code }: { code: string }) => code,
        ),
    ),
  );
  expect(results.toSorted()).toEqual(["opened", ...Array(9).fill("session_not_found")]);
});

test("the playground's sessions have no verified visitor: members continue them", async () => {
  const bot = await createBot(system.database);
  const opening = newOpenRequest(bot, { source: "playground", ...claimed("member-1") });
  await system.conversation.openTurn(opening, { timeoutMs: 5_000 });
  await closeTurn(system.database, newClosing(opening));
  const { sessionId } = opening;
  const next = newOpenRequest(bot, { sessionId, source: "playground", ...claimed("member-2") });
  await system.conversation.openTurn(next, { timeoutMs: 5_000 });
  expect(await readSession(sessionId)).toMatchObject(claimed("member-2"));
});
