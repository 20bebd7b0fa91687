import { setTimeout as sleep } from "node:timers/promises";
import { type Balance, databasesOf, queryFirstRow, readBalance, waitUntilSettled } from "../database.ts";
import type { System } from "../system.ts";

export type Reconciled = Balance & {
  /** Number of differences that `reconcile` repaired. */
  repairs: number;
  /** Number of differences that the last usage audit found. */
  differences: number;
};

export type ReconcileOptions = {
  settleTimeoutMs: number;
  /** The conversation service's RECONCILE_MIN_AGE_SECONDS. A repair ignores younger turns. */
  minAgeSeconds: number;
  /** Whether the run restores databases from backups. Turns may then differ from usage, and `reconcile` repairs the differences. */
  hasRestores: boolean;
};

const MAX_REPAIR_ROUNDS = 6;

/**
 * If `hasRestores`, repairs differences as an operator does. Waits until every turn is settled or `settleTimeoutMs` has passed, and counts the
 * remaining differences.
 */
export async function reconcile(system: System, options: ReconcileOptions): Promise<Reconciled> {
  let repairs = 0;
  let balance: Balance;
  let differences: number;
  if (options.hasRestores) {
    // A restored conversation database may have open turns that their edges have already finished. The sweeper closes such turns when the
    // leases of their edges expire. Running edges renew their leases, so all edges must stop.
    await Promise.all(system.edges.map((edge) => edge.stop()));
    await waitUntilClosed(system, options.settleTimeoutMs);
    await ageHolds(system);
    await sleep((options.minAgeSeconds + 1) * 1_000);
  }
  for (let round = 1; ; round++) {
    if (options.hasRestores) repairs += await repair(system);
    balance = await waitUntilSettled(system.database, options.settleTimeoutMs);
    differences = await countDifferences(system);
    if (differences + balance.unbalanced === 0 || !options.hasRestores || round === MAX_REPAIR_ROUNDS) break;
    // Waits until a repair no longer ignores the turns that this round has settled.
    await sleep((options.minAgeSeconds + 1) * 1_000);
  }
  return { ...balance, repairs, differences };
}

/** Waits until all turns are closed and all settlements are sent, or `timeoutMs` has passed. Unlike `waitUntilSettled`, ignores holds. */
async function waitUntilClosed({ database }: System, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const { streaming, outbox } = await readBalance(database);
    if ((streaming === 0 && outbox === 0) || performance.now() > deadline) return;
    await sleep(250);
  }
}

/** Makes all holds 10 minutes older. If conversation does not know a hold's turn, a repair voids the hold only after 10 minutes. */
async function ageHolds({ database }: System): Promise<void> {
  for (const each of databasesOf(database))
    await queryFirstRow(
      each,
      "UPDATE quota.reservations SET reserved_at = reserved_at - interval '10 minutes' WHERE state = 'held'",
    );
}

/** Repairs all differences, as `parley usage-audit --repair` does. Returns the number of repairs. */
async function repair({ admin }: System): Promise<number> {
  let repairs = 0;
  for (let token = ""; ; ) {
    const page = await admin.usageAudit.repair({ token });
    repairs += page.repairs.length;
    token = page.nextToken;
    if (token === "") return repairs;
  }
}

async function countDifferences({ admin }: System): Promise<number> {
  const { workspaces } = await admin.usageAudit.auditUsage({});
  return workspaces.reduce((sum, { differences }) => sum + differences.length, 0);
}
