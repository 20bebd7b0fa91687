import { randomUUID } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { SessionAdminService } from "@parley/rpc/conversation";
import { SettleOutcome } from "@parley/rpc/quota";
import { describe, expect, test } from "vitest";
import { adminFailure, countClosedTurns, rpcFailure, useTestSystem } from "../testing/system.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { openTurn } from "../turns/open-turn.store.ts";

const system = useTestSystem();

describe("sessions", () => {
  test("are not found after they were deleted", async () => {
    const sessions = system.createAdminClient(SessionAdminService);
    const turn = newTurn(await createBot(system.database));
    await runTurn(system.database, turn);
    const { workspaceId, sessionId } = turn;
    expect((await sessions.listSessions({ workspaceId })).sessions).toMatchObject([{ id: sessionId }]);
    await sessions.deleteSession({ workspaceId, sessionId });
    expect((await sessions.listSessions({ workspaceId })).sessions).toEqual([]);
    for (const missing of [sessionId, randomUUID(), "no-uuid"])
      expect(await adminFailure(sessions.deleteSession({ workspaceId, sessionId: missing }))).toMatchObject({
        code: Code.NotFound,
        parleyCode: "session_not_found",
      });
  });

  test("stay visible when DeleteSession cannot be recorded in the audit log", async () => {
    const bot = await createBot(system.database);
    const turn = newTurn(bot);
    await runTurn(system.database, turn);
    const { workspaceId, sessionId } = turn;
    const remove = () =>
      system.sessions.deleteSession({ workspaceId, sessionId, member: "anna" }, { timeoutMs: 3_000 });
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
    expect(await sessions.eraseVisitor({ workspaceId, visitorId: "v1" })).toMatchObject({ sessions: 2n });
    const erased = async () => {
      const { rows } = await system.admin.query(
        "SELECT count(*) AS sessions FROM conversation.sessions WHERE workspace_id = $1 AND erased_at IS NOT NULL",
        [workspaceId],
      );
      return Number(rows[0]?.sessions);
    };
    await expect.poll(erased).toBe(2);
    expect(await adminFailure(sessions.eraseVisitor({ workspaceId, visitorId: "" }))).toMatchObject({
      code: Code.InvalidArgument,
    });
  });
});
