import { createHash, randomUUID } from "node:crypto";
import { status } from "@parley/rpc";
import { ModerationAdminService, SessionAdminService, TurnOutcome } from "@parley/rpc/conversation";
import { beforeAll, describe, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { takeHandoff } from "../handoff/handoff.store.ts";
import { rpcFailure, useTestSystem } from "../testing/system.ts";
import { botFields, createBot, newCloseRequest, newOpenRequest, type OpenRequest } from "../testing/turns.ts";

const system = useTestSystem();
let bot: Bot;
beforeAll(async () => {
  bot = await createBot(system.database);
});

const options = { timeoutMs: 5_000 };
const hash = (text: string) => createHash("sha256").update(text).digest();
const keyed = (fields: Partial<OpenRequest> = {}) =>
  newOpenRequest(bot, { keyHash: hash(randomUUID()), requestHash: hash("Hello?"), ...fields });
const open = (turn: OpenRequest) => system.conversation.openTurn(turn, options);
/** Opens a turn with the same key from another edge. */
const openAgain = (turn: OpenRequest) => open({ ...turn, turnId: randomUUID(), edgeId: randomUUID() });
const find = ({ workspaceId, botId, sessionId, source, keyHash, requestHash }: OpenRequest, fields: object = {}) =>
  system.conversation.findTurn(
    {
      workspaceId,
      botId,
      sessionId,
      source,
      ...(keyHash && { keyHash }),
      ...(requestHash && { requestHash }),
      ...fields,
    },
    options,
  );
const NOT_FOUND = { status: status.NOT_FOUND, code: "turn_not_found" };

async function countTurns({ sessionId }: OpenRequest): Promise<number> {
  const { rows } = await system.admin.query("SELECT FROM conversation.turns WHERE session_id = $1", [sessionId]);
  return rows.length;
}

describe("OpenTurn with an idempotency key", () => {
  test("returns the running turn instead of opening a second one", async () => {
    const turn = keyed();
    const { messageId } = await open(turn);
    const { existing, messageId: openedId } = await openAgain(turn);
    expect(openedId).toBe(0n);
    expect(existing).toMatchObject({ turnId: turn.turnId, edgeId: turn.edgeId, messageId });
    expect(existing?.end).toBeUndefined();
    expect(await countTurns(turn)).toBe(1);
  });

  test("returns who has taken the session over with the end of a turn that the takeover cancelled", async () => {
    const turn = keyed();
    await open(turn);
    await takeHandoff(system.database, turn, { id: "a1", name: "Anna" });
    expect((await find(turn)).turn?.end).toBeUndefined();
    await system.conversation.closeTurn({ ...newCloseRequest(turn), outcome: TurnOutcome.CANCELLED }, options);
    for (const stored of [(await find(turn)).turn, (await openAgain(turn)).existing])
      expect(stored?.end).toMatchObject({ outcome: TurnOutcome.CANCELLED, handoff: { agent: { name: "Anna" } } });
  });

  test("returns the end of a closed turn", async () => {
    const turn = keyed();
    await open(turn);
    await system.conversation.closeTurn(newCloseRequest(turn), options);
    const { existing } = await openAgain(turn);
    expect(existing?.end).toMatchObject({ outcome: TurnOutcome.DONE, content: "Hi!", model: bot.model, latencyMs: 9 });
  });

  test("opens one turn when thirty calls with one key run concurrently", async () => {
    const turn = keyed();
    const responses = await Promise.all(Array.from({ length: 30 }, () => openAgain(turn)));
    expect(responses.filter(({ existing }) => existing === undefined)).toHaveLength(1);
    expect(await countTurns(turn)).toBe(1);
  });

  test("returns the prompt again when the same request is repeated", async () => {
    const turn = keyed();
    const { prompt, messageId } = await open(turn);
    const repeated = await open(turn);
    expect(repeated).toMatchObject({ prompt, messageId });
    expect(repeated.existing).toBeUndefined();
  });

  test("refuses the key with another message", async () => {
    const turn = keyed();
    await open(turn);
    expect(await rpcFailure(openAgain({ ...turn, message: "Other", requestHash: hash("Other") }))).toMatchObject({
      status: status.FAILED_PRECONDITION,
      code: "idempotency_key_reused",
    });
  });

  test("opens another turn for the same key in another session", async () => {
    const turn = keyed();
    await open(turn);
    expect((await openAgain({ ...turn, sessionId: randomUUID() })).existing).toBeUndefined();
  });

  test("refuses a third running turn with a key in a session, but not a turn without a key", async () => {
    const turns = [keyed(), keyed(), keyed()].map((each, _, all) => ({ ...each, sessionId: all[0]?.sessionId ?? "" }));
    const [first, second, third] = turns as [OpenRequest, OpenRequest, OpenRequest];
    await open(first);
    await open(second);
    expect(await rpcFailure(open(third))).toMatchObject({
      status: status.RESOURCE_EXHAUSTED,
      code: "too_many_keyed_turns",
    });
    await open(newOpenRequest(bot, { sessionId: first.sessionId }));
    await system.conversation.closeTurn(newCloseRequest(first), options);
    expect((await open(third)).existing).toBeUndefined();
  });

  test("returns a blocked turn with its fallback and without content", async () => {
    const strict = await createBot(system.database);
    await system
      .createAdminClient(ModerationAdminService)
      .addPattern({ ...botFields(strict), pattern: "Hello", fallback: "No." });
    const turn = newOpenRequest(strict, { keyHash: hash(randomUUID()), requestHash: hash("Hello?") });
    expect((await open(turn)).blocked).toBeDefined();
    expect((await openAgain(turn)).existing?.end).toMatchObject({
      outcome: TurnOutcome.BLOCKED,
      content: "",
      blocked: { reason: "blocked_pattern", fallback: "No." },
    });
  });

  test("refuses a key hash that is not 32 bytes long", async () => {
    expect(await rpcFailure(open(keyed({ keyHash: new Uint8Array(31) })))).toMatchObject({ code: "invalid_argument" });
  });
});

describe("FindTurn", () => {
  test("finds a turn by its key, and by its reply's message id even if the turn has no key", async () => {
    const turn = keyed();
    const { messageId } = await open(turn);
    const expected = { turn: { turnId: turn.turnId, messageId } };
    expect(await find(turn)).toMatchObject(expected);
    expect(await find(turn, { keyHash: new Uint8Array(), requestHash: new Uint8Array(), messageId })).toMatchObject(
      expected,
    );
    const unkeyed = newOpenRequest(bot);
    const opened = await open(unkeyed);
    expect(await find(unkeyed, { messageId: opened.messageId })).toMatchObject({ turn: { turnId: unkeyed.turnId } });
  });

  test("compares the request hash only if the turn has a key", async () => {
    const turn = keyed();
    await open(turn);
    expect(await rpcFailure(find(turn, { requestHash: hash("Other") }))).toMatchObject({
      status: status.FAILED_PRECONDITION,
      code: "idempotency_key_reused",
    });
    const unkeyed = newOpenRequest(bot);
    const { messageId } = await open(unkeyed);
    const found = await find(unkeyed, { messageId, requestHash: hash("Hello?") });
    expect(found).toMatchObject({ turn: { turnId: unkeyed.turnId } });
  });

  test("finds no turn for another session, bot or source, or for an unknown key", async () => {
    const turn = keyed();
    const { messageId } = await open(turn);
    const byMessage = { keyHash: new Uint8Array(), requestHash: new Uint8Array(), messageId };
    for (const other of [{ sessionId: randomUUID() }, { botId: randomUUID() }, { source: "playground" }]) {
      expect(await rpcFailure(find({ ...turn, ...other }))).toMatchObject(NOT_FOUND);
      expect(await rpcFailure(find({ ...turn, ...other }, byMessage))).toMatchObject(NOT_FOUND);
    }
    expect(await rpcFailure(find(keyed()))).toMatchObject(NOT_FOUND);
    // The id of the visitor's message, not of the reply.
    expect(await rpcFailure(find(turn, { ...byMessage, messageId: messageId - 1n }))).toMatchObject(NOT_FOUND);
  });

  test("returns the workspace's usage and cap for a turn that was closed as quota_exceeded", async () => {
    const turn = keyed();
    await open(turn);
    const quota = { plan: "free", used: 100, cap: 100 };
    await system.conversation.closeTurn(
      { ...newCloseRequest(turn, TurnOutcome.QUOTA_EXCEEDED, ""), content: "", quota },
      options,
    );
    expect((await find(turn)).turn?.end).toMatchObject({ outcome: TurnOutcome.QUOTA_EXCEEDED, quota });
  });
});

test("CloseTurn returns the stored failure code to every caller", async () => {
  const turn = keyed();
  await open(turn);
  const failed = { ...newCloseRequest(turn, TurnOutcome.ERROR, ""), errorCode: "provider_timeout" };
  const stored = { outcome: TurnOutcome.ERROR, errorCode: "provider_timeout" };
  expect(await system.conversation.closeTurn(failed, options)).toMatchObject(stored);
  expect(await system.conversation.closeTurn({ ...failed, errorCode: "internal_error" }, options)).toMatchObject(
    stored,
  );
});

test("erasing a session removes the key hash, the request hash and the ending of its turns", async () => {
  const turn = keyed();
  await open(turn);
  await system.conversation.closeTurn(
    { ...newCloseRequest(turn, TurnOutcome.QUOTA_EXCEEDED, ""), quota: { plan: "free", used: 1, cap: 1 } },
    options,
  );
  const { workspaceId, sessionId } = turn;
  await system.createAdminClient(SessionAdminService).eraseSession({ workspaceId, sessionId });
  const { rows } = await system.admin.query(
    "SELECT key_hash, request_hash, ending FROM conversation.turns WHERE turn_id = $1",
    [turn.turnId],
  );
  expect(rows).toEqual([{ key_hash: null, request_hash: null, ending: null }]);
  expect(await rpcFailure(find(turn))).toMatchObject(NOT_FOUND);
  expect(await rpcFailure(openAgain(turn))).toMatchObject({ code: "session_not_found" });
});
