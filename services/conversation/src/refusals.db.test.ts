import { randomUUID } from "node:crypto";
import { status } from "@parley/rpc";
import { KeyAdminService, TurnOutcome } from "@parley/rpc/conversation";
import { beforeAll, expect, test } from "vitest";
import type { Bot } from "./bots/bots.store.ts";
import { rpcFailure, useTestSystem } from "./testing/system.ts";
import { botFields, createBot, newCloseRequest, newOpenRequest, type OpenRequest } from "./testing/turns.ts";

const system = useTestSystem();
let bot: Bot;
let otherWorkspacesBot: Bot;
beforeAll(async () => {
  bot = await createBot(system.database);
  otherWorkspacesBot = await createBot(system.database);
});

const options = { timeoutMs: 5_000 };
const open = (turn: OpenRequest) => system.conversation.openTurn(turn, options);
const close = (...args: Parameters<typeof newCloseRequest>) =>
  system.conversation.closeTurn(newCloseRequest(...args), options);
const notFound = (code: string) => ({ status: status.NOT_FOUND, code, message: expect.any(String) });

test("OpenTurn and ResolveBot return the same error for another workspace's bot and for a bot that never existed", async () => {
  const missing = await rpcFailure(open({ ...newOpenRequest(bot), botId: randomUUID() }));
  expect(missing).toEqual(notFound("bot_not_found"));
  expect(await rpcFailure(open({ ...newOpenRequest(bot), botId: otherWorkspacesBot.id }))).toEqual(missing);
  expect(await rpcFailure(open({ ...newOpenRequest(bot), workspaceId: "a b\0" }))).toEqual(missing);
  const resolve = (workspaceId: string, botSlug: string) =>
    system.conversation.resolveBot({ workspaceId, botSlug }, options);
  expect(await rpcFailure(resolve(bot.workspaceId, otherWorkspacesBot.slug))).toEqual(missing);
  expect(await rpcFailure(resolve("\0", bot.slug))).toEqual(missing);
  expect(await resolve(bot.workspaceId, bot.slug)).toMatchObject({ botId: bot.id });
});

test("OpenTurn returns the same error for a session of another bot or source and for a deleted or erased session", async () => {
  const sibling = await createBot(system.database, { workspaceId: bot.workspaceId });
  const turn = newOpenRequest(bot);
  await open(turn);
  const { sessionId } = turn;
  const failures = [
    await rpcFailure(open(newOpenRequest(sibling, { sessionId }))),
    await rpcFailure(open({ ...newOpenRequest(bot, { sessionId }), source: "playground" })),
  ];
  for (const column of ["deleted_at", "erased_at"]) {
    await system.admin.query(`UPDATE conversation.sessions SET ${column} = now() WHERE session_id = $1`, [sessionId]);
    failures.push(await rpcFailure(open(newOpenRequest(bot, { sessionId }))));
  }
  for (const failure of failures)
    expect(failure).toEqual({ ...notFound("session_not_found"), message: "no such session" });
});

test("CloseTurn returns the same error for another workspace's turn and for a turn that never existed", async () => {
  const turn = newOpenRequest(bot);
  await open(turn);
  const missing = await rpcFailure(close({ workspaceId: bot.workspaceId, turnId: randomUUID() }));
  expect(missing).toEqual(notFound("turn_not_found"));
  expect(await rpcFailure(close({ workspaceId: otherWorkspacesBot.workspaceId, turnId: turn.turnId }))).toEqual(
    missing,
  );
  expect(await rpcFailure(close({ workspaceId: bot.workspaceId, turnId: "no-uuid" }))).toEqual(missing);
});

test("RateMessage returns the same error for a reply of another workspace, bot or session, for a visitor's message, and for a reply in a deleted session", async () => {
  const sibling = await createBot(system.database, { workspaceId: bot.workspaceId });
  const turn = newOpenRequest(bot);
  const { messageId } = await open(turn);
  const rate = (overrides: object, rating = "up") =>
    system.conversation.rateMessage(
      { workspaceId: bot.workspaceId, botId: bot.id, sessionId: turn.sessionId, messageId, rating, ...overrides },
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
  for (const overrides of [
    { workspaceId: otherWorkspacesBot.workspaceId },
    { botId: sibling.id },
    { botId: "x" },
    { sessionId: randomUUID() },
    { messageId: messageId - 1n },
    { messageId: 2n ** 62n },
  ]) {
    expect(await rpcFailure(rate(overrides))).toEqual(missing);
  }
  await rate({}, "");
  expect(await rpcFailure(rate({}, "great"))).toMatchObject({ status: status.INVALID_ARGUMENT });
  await system.admin.query("UPDATE conversation.sessions SET deleted_at = now() WHERE session_id = $1", [
    turn.sessionId,
  ]);
  expect(await rpcFailure(rate({}))).toEqual(missing);
});

test("ResolveKey returns the same error for an unknown, a revoked and a malformed key", async () => {
  const keys = system.createAdminClient(KeyAdminService);
  const { key } = await keys.createKey({ ...botFields(bot), domains: ["*.Example.com"] });
  const resolve = (publicKey: string) => system.conversation.resolveKey({ publicKey }, options);
  expect(await resolve(key?.publicKey ?? "")).toMatchObject({
    workspaceId: bot.workspaceId,
    botId: bot.id,
    allowedDomains: ["*.example.com"],
    display: { name: "Assistant", customCssVars: {}, quickReplies: [] },
  });
  await keys.revokeKey({ publicKey: key?.publicKey ?? "" });
  // The revoked key, an unknown key with a correct checksum, one with a wrong checksum, and malformed keys.
  const failures = await Promise.all(
    [key?.publicKey ?? "", `svc_pk_${"0".repeat(26)}3vSKjy`, `svc_pk_${"0".repeat(32)}`, "", "svc_pk_\0"].map((each) =>
      rpcFailure(resolve(each)),
    ),
  );
  for (const failure of failures) expect(failure).toEqual({ ...notFound("invalid_api_key"), message: "no such key" });
});

test("OpenTurn, CloseTurn and RenewEdge return invalid_argument for invalid ids, sources, messages, metadata, outcomes and months", async () => {
  const good = newOpenRequest(bot);
  for (const overrides of [
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
    expect(await rpcFailure(open({ ...good, ...overrides })), JSON.stringify(overrides)).toMatchObject({
      status: status.INVALID_ARGUMENT,
    });
  }
  expect(await rpcFailure(close(good, TurnOutcome.DONE, ""))).toMatchObject({ status: status.INVALID_ARGUMENT });
  expect(await rpcFailure(close(good, TurnOutcome.DONE, "2026-13"))).toMatchObject({ status: status.INVALID_ARGUMENT });
  expect(await rpcFailure(close(good, TurnOutcome.UNSPECIFIED))).toMatchObject({ status: status.INVALID_ARGUMENT });
  expect(await rpcFailure(system.conversation.renewEdge({ edgeId: "x" }, options))).toMatchObject({
    status: status.INVALID_ARGUMENT,
  });
  // The limit counts code points, not UTF-16 units.
  await open({ ...good, message: "😀".repeat(4_000) });
});
