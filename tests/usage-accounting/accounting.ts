import { expect } from "vitest";
import { chat } from "../system/chat.ts";
import { cliEnv, runCliInProcess } from "../system/cli.ts";
import { copyTables, databaseOf, queryFirstRow, readBalance } from "../system/database.ts";
import { readMetric } from "../system/metrics.ts";
import { type System, startSystem, type Tenant } from "../system/system.ts";
import { TRUST_FORWARDED_FOR } from "../system/visitors.ts";

/** Reconciles every second, and includes turns that were closed at least a second ago. */
const QUICK_RECONCILIATION = { RECONCILE_EVERY_SECONDS: "1", RECONCILE_MIN_AGE_SECONDS: "1" };
export const REPAIR_TIMEOUT_MS = 20_000;

const TABLES = {
  conversation: ["sessions", "messages", "turns", "outbox"],
  quota: ["usage", "reservations", "ledger", "adjustments"],
};

/** The system reconciles every second and closes the turns of a killed edge after 3 s. */
export function startReconcilingSystem(): Promise<System> {
  return startSystem({
    env: {
      edge: TRUST_FORWARDED_FOR,
      conversation: { LOG_LEVEL: "error", EDGE_LEASE_SECONDS: "3", ...QUICK_RECONCILIATION },
    },
  });
}

export function createAccounting(get: () => { system: System; tenant: Tenant }) {
  async function completeTurns(turns: number): Promise<void> {
    for (let turn = 0; turn < turns; turn++)
      expect((await chat(get().system.url(), get().tenant)).done).toMatchObject({ finish_reason: "stop" });
    await expectBalance({ held: 0, outbox: 0 });
  }

  const readTenantBalance = () => readBalance(get().system.database, get().tenant.workspaceId);

  function expectBalance(expected: object): Promise<void> {
    return expect.poll(readTenantBalance, { timeout: REPAIR_TIMEOUT_MS }).toMatchObject(expected);
  }

  const auditExitCode = async () =>
    (await runCliInProcess(["usage-audit", "--check", "--workspace", get().tenant.workspaceId], cliEnv(get().system)))
      .code;

  /** Waits until the tenant has `count` done turns, a usage of `count` and nothing pending. Expects that the usage audit finds no difference. */
  async function expectConsistentTurns(count: number): Promise<void> {
    await expectBalance({ done: count, used: count, ledger: count, held: 0, streaming: 0, outbox: 0, unbalanced: 0 });
    expect(await auditExitCode()).toBe(0);
  }

  /** Copies the tenant's rows of a schema. Returns a function that restores them, and runs further SQL in the same transaction. */
  async function backUp(schema: keyof typeof TABLES): Promise<(sql?: string) => Promise<unknown>> {
    const { system, tenant } = get();
    const ofTenant = `workspace_id = '${tenant.workspaceId}'`;
    const database = databaseOf(system, tenant.workspaceId);
    const { restoreSql } = await copyTables(database, schema, TABLES[schema], ofTenant);
    return (sql = "") => queryFirstRow(database, `BEGIN; ${restoreSql} ${sql} COMMIT`);
  }

  const countRepairs = (kind?: string) =>
    readMetric(get().system.conversation, "parley_reconciliation_repairs_total", kind ? { kind } : {});

  return { auditExitCode, backUp, completeTurns, expectBalance, expectConsistentTurns, countRepairs };
}
