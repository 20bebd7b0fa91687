import { Code } from "@connectrpc/connect";
import { UsageAuditAdminService } from "@parley/rpc/conversation";
import { describe, expect, test } from "vitest";
import { adminFailure, useTestSystem } from "../testing/system.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";

const system = useTestSystem();

describe("auditUsage", () => {
  test("counts turns in the outbox as waiting, and reports turns that the usage ledger lacks", async () => {
    const usageAudit = system.createAdminClient(UsageAuditAdminService);
    const bot = await createBot(system.database);
    const { workspaceId } = bot;
    system.quota.isSettleUnavailable = true;
    const turns = Array.from({ length: 3 }, () => newTurn(bot));
    for (const turn of turns) await runTurn(system.database, turn);
    await runTurn(system.database, newTurn(bot), { outcome: "error" });
    await runTurn(system.database, newTurn(bot), { month: "2026-10" });
    const november = { workspaceId, month: "2026-11" };
    expect(await usageAudit.auditUsage(november)).toMatchObject({
      balanced: true,
      workspaces: [{ id: workspaceId, doneMessages: 3, used: 0, ledger: 0, waiting: 3, differences: [] }],
    });
    system.quota.isSettleUnavailable = false;
    const settled = { id: workspaceId, doneMessages: 3, used: 3, ledger: 3, waiting: 0, differences: [] };
    await expect
      .poll(async () => (await usageAudit.auditUsage(november)).workspaces, { timeout: 20_000 })
      .toMatchObject([settled]);
    // The October turn may be settled after the November turns.
    const readOctober = async () => {
      const { workspaces } = await usageAudit.auditUsage({ workspaceId: "", month: "2026-10" });
      return workspaces.find((each) => each.id === workspaceId);
    };
    await expect.poll(readOctober, { timeout: 20_000 }).toMatchObject({ doneMessages: 1, used: 1, ledger: 1 });
    // The audit reports a turn that is in the outbox as waiting, not as lost. The settler deletes an outbox row only after quota settled its turn.
    const countOutboxRows = async () =>
      (await system.admin.query("SELECT FROM conversation.outbox WHERE workspace_id = $1", [workspaceId])).rowCount;
    await expect.poll(countOutboxRows, { timeout: 20_000 }).toBe(0);
    const [lost] = turns;
    system.quota.deleteTurn(lost?.turnId ?? "");
    expect(await usageAudit.auditUsage(november)).toMatchObject({
      balanced: false,
      workspaces: [{ id: workspaceId, differences: [{ kind: "reply_not_counted", turnId: lost?.turnId }] }],
    });
  });

  test("returns no workspace for a malformed id, refuses a malformed month, and is unavailable while quota is down", async () => {
    const usageAudit = system.createAdminClient(UsageAuditAdminService);
    const { workspaceId } = await createBot(system.database);
    expect((await usageAudit.auditUsage({ workspaceId: "\0", month: "" })).workspaces).toEqual([]);
    expect(await adminFailure(usageAudit.auditUsage({ workspaceId, month: "2026-13" }))).toMatchObject({
      code: Code.InvalidArgument,
    });
    system.quota.isUnavailable = true;
    const failure = await adminFailure(usageAudit.auditUsage({ workspaceId, month: "2026-11" }));
    system.quota.isUnavailable = false;
    expect(failure).toMatchObject({ code: Code.Unavailable });
  });
});
