import { randomUUID } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { SessionAdminService } from "@parley/rpc/conversation";
import { SettleOutcome } from "@parley/rpc/quota";
import { describe, expect, test } from "vitest";
import { adminFailure, countClosedTurns, RFC_3339, rpcFailure, useTestSystem } from "../testing/system.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { openTurn } from "../turns/open-turn.store.ts";

const system = useTestSystem();

describe("sessions", () => {
  test("are listed by last activity, newest first, with rating and review, without deleted sessions", async () => {
    const sessions = system.createAdminClient(SessionAdminService);
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
    expect(listed[0]).toMatchObject({ rating: "", review: "" });
    await system.admin.query(
      "UPDATE conversation.sessions SET ratings_up = 1, reviews_good = 1, reviews_bad = 1 WHERE session_id = $1",
      [third],
    );
    const [, rated] = (await sessions.listSessions({ workspaceId })).sessions;
    expect(rated).toMatchObject({ id: third, rating: "up", review: "bad" });
    expect((await sessions.listSessions({ workspaceId, limit: 1 })).sessions).toHaveLength(1);
    expect(await adminFailure(sessions.listSessions({ workspaceId, limit: 1_001 }))).toMatchObject({
      code: Code.InvalidArgument,
    });
    for (const sessionId of [second ?? "", randomUUID(), "no-uuid"])
      expect(await adminFailure(sessions.deleteSession({ workspaceId, sessionId }))).toMatchObject({
        code: Code.NotFound,
        parleyCode: "session_not_found",
      });
  });

  test("stay visible when SoftDeleteSession cannot be recorded in the audit log", async () => {
    const bot = await createBot(system.database);
    const turn = newTurn(bot);
    await runTurn(system.database, turn);
    const { workspaceId, sessionId } = turn;
    const remove = () =>
      system.conversation.softDeleteSession({ workspaceId, sessionId, member: "anna" }, { timeoutMs: 3_000 });
    const rename = (from: string, to: string) => system.admin.query(`ALTER TABLE conversation.${from} RENAME TO ${to}`);
    await rename("audit_log", "audit_log_away");
    try {
      await rpcFailure(remove());
    } finally {
      await rename("audit_log_away", "audit_log");
    }
    expect((await system.createAdminClient(SessionAdminService).listSessions({ workspaceId })).sessions).toHaveLength(
      1,
    );
    await remove();
    expect((await system.createAdminClient(SessionAdminService).listSessions({ workspaceId })).sessions).toHaveLength(
      0,
    );
    const { rows } = await system.admin.query(
      "SELECT member, target FROM conversation.audit_log WHERE workspace_id = $1",
      [workspaceId],
    );
    expect(rows).toEqual([{ member: "anna", target: { session_id: sessionId } }]);
  });

  test("are erased: their open turns are counted as cancelled and settled as void, and a second erasure finds no session", async () => {
    const bot = await createBot(system.database);
    const turn = newTurn(bot);
    await openTurn(system.database, turn);
    const { workspaceId, sessionId } = turn;
    const before = await countClosedTurns(system, "cancelled");
    await system.createAdminClient(SessionAdminService).eraseSession({ workspaceId, sessionId });
    expect(await countClosedTurns(system, "cancelled")).toBe(before + 1);
    // The poll of the outbox skips settlements younger than 2 s. Within this time, only the process that closed a turn settles it.
    await expect.poll(() => system.quota.outcomeOf(turn.turnId), { timeout: 1_900 }).toBe(SettleOutcome.VOID);
    expect(
      await adminFailure(system.createAdminClient(SessionAdminService).eraseSession({ workspaceId, sessionId })),
    ).toMatchObject({
      parleyCode: "session_not_found",
    });
  });

  test("of a visitor are erased, and other sessions are not", async () => {
    const bot = await createBot(system.database);
    const { workspaceId } = bot;
    const turns = [newTurn(bot, { visitorId: "v1" }), newTurn(bot, { visitorId: "v1" }), newTurn(bot)];
    for (const turn of turns) await runTurn(system.database, turn);
    const sessions = system.createAdminClient(SessionAdminService);
    expect(await sessions.eraseVisitorSessions({ workspaceId, visitorId: "v1" })).toMatchObject({ sessions: 2n });
    const erased = async () => {
      const { rows } = await system.admin.query(
        "SELECT count(*) AS sessions FROM conversation.sessions WHERE workspace_id = $1 AND erased_at IS NOT NULL",
        [workspaceId],
      );
      return Number(rows[0]?.sessions);
    };
    await expect.poll(erased).toBe(2);
    expect(await adminFailure(sessions.eraseVisitorSessions({ workspaceId, visitorId: "" }))).toMatchObject({
      code: Code.InvalidArgument,
    });
  });
});
