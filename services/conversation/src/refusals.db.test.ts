import { randomUUID } from "node:crypto";
import { status } from "@parley/rpc";
import { KeyAdminService, TurnOutcome } from "@parley/rpc/conversation";
import { beforeAll, expect, test } from "vitest";
import type { Bot } from "./bots/bots.store.ts";
import { rpcFailure, useTestSystem } from "./testing/system.ts";
import { createBot, type OpenRequest, openRequest } from "./testing/turns.ts";

const system = useTestSystem();
let bot: Bot;
let other: Bot;
beforeAll(async () => {
  bot = await createBot(system.database);
  other = await createBot(system.database);
});

const options = { timeoutMs: 5_000 };
const open = (turn: OpenRequest) => system.conversation.openTurn(turn, options);
const close = (turn: { workspaceId: string; turnId: string }, outcome = TurnOutcome.DONE, month = "2026-11") =>
  system.conversation.closeTurn(
    {
      workspaceId: turn.workspaceId,
      turnId: turn.turnId,
      outcome,
      month,
      content: "Hi!",
      tokensIn: 5,
      tokensOut: 2,
      latencyMs: 9,
    },
    options,
  );
const notFound = (code: string) => ({ status: status.NOT_FOUND, code, message: expect.any(String) });

test("a bot of another workspace is as missing as one that never was", async () => {
  const missing = await rpcFailure(open({ ...openRequest(bot), botId: randomUUID() }));
  expect(missing).toEqual(notFound("bot_not_found"));
  expect(await rpcFailure(open({ ...openRequest(bot), botId: other.id }))).toEqual(missing);
  expect(await rpcFailure(open({ ...openRequest(bot), workspaceId: "a b\0" }))).toEqual(missing);
  const resolve = (workspaceId: string, botSlug: string) =>
    system.conversation.resolveBot({ workspaceId, botSlug }, options);
  expect(await rpcFailure(resolve(bot.workspaceId, other.slug))).toEqual(missing);
  expect(await rpcFailure(resolve("\0", bot.slug))).toEqual(missing);
  expect(await resolve(bot.workspaceId, bot.slug)).toMatchObject({ botId: bot.id });
});

test("a session of another bot, another source, a deleted and an erased one are refused alike", async () => {
  const sibling = await createBot(system.database, { workspaceId: bot.workspaceId });
  const turn = openRequest(bot);
  await open(turn);
  const { sessionId } = turn;
  const answers = [
    await rpcFailure(open(openRequest(sibling, { sessionId }))),
    await rpcFailure(open({ ...openRequest(bot, { sessionId }), source: "playground" })),
  ];
  for (const column of ["deleted_at", "erased_at"]) {
    await system.admin.query(`UPDATE conversation.sessions SET ${column} = now() WHERE session_id = $1`, [sessionId]);
    answers.push(await rpcFailure(open(openRequest(bot, { sessionId }))));
  }
  for (const answer of answers)
    expect(answer).toEqual({ ...notFound("session_not_found"), message: "no such session" });
});

test("a turn of another workspace is as missing as one that never was", async () => {
  const turn = openRequest(bot);
  await open(turn);
  const missing = await rpcFailure(close({ workspaceId: bot.workspaceId, turnId: randomUUID() }));
  expect(missing).toEqual(notFound("turn_not_found"));
  expect(await rpcFailure(close({ workspaceId: other.workspaceId, turnId: turn.turnId }))).toEqual(missing);
  expect(await rpcFailure(close({ workspaceId: bot.workspaceId, turnId: "no-uuid" }))).toEqual(missing);
});

test("a reply of another workspace, bot or session, a question and a deleted session's reply cannot be rated", async () => {
  const sibling = await createBot(system.database, { workspaceId: bot.workspaceId });
  const turn = openRequest(bot);
  const { messageId } = await open(turn);
  const rate = (given: object, rating = "up") =>
    system.conversation.rateMessage(
      { workspaceId: bot.workspaceId, botId: bot.id, sessionId: turn.sessionId, messageId, rating, ...given },
      options,
    );
  await rate({});
  const { rows } = await system.admin.query(
    "SELECT rating FROM conversation.messages WHERE turn_id = $1 ORDER BY message_id",
    [turn.turnId],
  );
  expect(rows).toEqual([{ rating: "" }, { rating: "up" }]);
  const missing = await rpcFailure(rate({ messageId: 9n }));
  expect(missing).toEqual(notFound("message_not_found"));
  for (const given of [
    { workspaceId: other.workspaceId },
    { botId: sibling.id },
    { botId: "x" },
    { sessionId: randomUUID() },
    { messageId: messageId - 1n },
    { messageId: 2n ** 62n },
  ]) {
    expect(await rpcFailure(rate(given))).toEqual(missing);
  }
  await rate({}, "");
  expect(await rpcFailure(rate({}, "great"))).toMatchObject({ status: status.INVALID_ARGUMENT });
  await system.admin.query("UPDATE conversation.sessions SET deleted_at = now() WHERE session_id = $1", [
    turn.sessionId,
  ]);
  expect(await rpcFailure(rate({}))).toEqual(missing);
});

test("an unknown, a revoked and a malformed key are refused alike", async () => {
  const keys = system.ops(KeyAdminService);
  const name = { workspaceId: bot.workspaceId, botSlug: bot.slug };
  const { key } = await keys.createKey({ ...name, domains: ["*.Example.com"] });
  const resolve = (publicKey: string) => system.conversation.resolveKey({ publicKey }, options);
  expect(await resolve(key?.publicKey ?? "")).toMatchObject({
    workspaceId: bot.workspaceId,
    botId: bot.id,
    allowedDomains: ["*.example.com"],
    display: { name: "Assistant", customCssVars: {}, quickReplies: [] },
  });
  await keys.revokeKey({ publicKey: key?.publicKey ?? "" });
  const answers = await Promise.all(
    [key?.publicKey ?? "", `svc_pk_${"0".repeat(26)}3vSKjy`, `svc_pk_${"0".repeat(32)}`, "", "svc_pk_\0"].map((each) =>
      rpcFailure(resolve(each)),
    ),
  );
  for (const answer of answers) expect(answer).toEqual({ ...notFound("invalid_api_key"), message: "no such key" });
});

test("what cannot be stored is the caller's mistake, not a failure of ours", async () => {
  const good = openRequest(bot);
  for (const given of [
    { turnId: "1" },
    { edgeId: "" },
    { sessionId: "x" },
    { source: "mail" },
    { message: "" },
    { message: "x".repeat(4_001) },
    { message: "a\0" },
    { visitorId: "\0" },
    { visitorMetadata: "[]" },
    { visitorMetadata: "{" },
    { visitorMetadata: '{"a":"\\u0000"}' },
    { visitorMetadata: '{"a":"\\ud800"}' },
    { visitorMetadata: '{"a":1e999999}' },
    { visitorMetadata: `{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}` },
  ]) {
    expect(await rpcFailure(open({ ...good, ...given })), JSON.stringify(given)).toMatchObject({
      status: status.INVALID_ARGUMENT,
    });
  }
  expect(await rpcFailure(close(good, TurnOutcome.DONE, ""))).toMatchObject({ status: status.INVALID_ARGUMENT });
  expect(await rpcFailure(close(good, TurnOutcome.DONE, "2026-13"))).toMatchObject({ status: status.INVALID_ARGUMENT });
  expect(await rpcFailure(close(good, TurnOutcome.UNSPECIFIED))).toMatchObject({ status: status.INVALID_ARGUMENT });
  expect(await rpcFailure(system.conversation.renewEdge({ edgeId: "x" }, options))).toMatchObject({
    status: status.INVALID_ARGUMENT,
  });
  await open({ ...good, message: "😀".repeat(4_000) });
});
