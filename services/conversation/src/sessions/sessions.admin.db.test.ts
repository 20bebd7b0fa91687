import { randomUUID } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { SessionAdminService } from "@parley/rpc/conversation";
import { SettleOutcome } from "@parley/rpc/quota";
import { describe, expect, test } from "vitest";
import { adminFailure, useTestSystem } from "../testing/system.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { openTurn } from "../turns/open-turn.store.ts";

const system = useTestSystem();
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe("sessions", () => {
  test("are listed by last activity, newest first, without deleted ones", async () => {
    const sessions = system.ops(SessionAdminService);
    const bot = await createBot(system.database);
    const { workspaceId } = bot;
    const turns = [newTurn(bot), newTurn(bot), newTurn(bot)];
    for (const turn of turns) await runTurn(system.database, turn);
    const [first, second, third] = turns.map((turn) => turn.sessionId);
    await openTurn(system.database, newTurn(bot, { sessionId: first ?? "" }));
    await sessions.deleteSession({ workspaceId, sessionId: second ?? "" });
    const { sessions: listed } = await sessions.listSessions({ workspaceId });
    expect(listed.map((each) => [each.id, each.messages])).toEqual([
      [first, 4],
      [third, 2],
    ]);
    expect(listed[0]).toMatchObject({
      botSlug: bot.slug,
      source: "widget",
      startedAt: expect.stringMatching(RFC_3339),
    });
    expect((await sessions.listSessions({ workspaceId, limit: 1 })).sessions).toHaveLength(1);
    expect(await adminFailure(sessions.listSessions({ workspaceId, limit: 1_001 }))).toMatchObject({
      code: Code.InvalidArgument,
    });
    for (const sessionId of [second ?? "", randomUUID(), "no-uuid"])
      expect(await adminFailure(sessions.deleteSession({ workspaceId, sessionId }))).toMatchObject({
        code: Code.NotFound,
        stable: "session_not_found",
      });
  });

  test("settle their open turns when they are erased", async () => {
    const bot = await createBot(system.database);
    const turn = newTurn(bot);
    await openTurn(system.database, turn);
    const { workspaceId, sessionId } = turn;
    await system.ops(SessionAdminService).eraseSession({ workspaceId, sessionId });
    await expect.poll(() => system.quota.outcomeOf(turn.turnId), { timeout: 1_000 }).toBe(SettleOutcome.VOID);
    expect(await adminFailure(system.ops(SessionAdminService).eraseSession({ workspaceId, sessionId }))).toMatchObject({
      stable: "session_not_found",
    });
  });
});
