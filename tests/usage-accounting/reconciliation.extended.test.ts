import { afterAll, beforeAll, expect, test } from "vitest";
import { chat } from "../system/chat.ts";
import { queryFirstRow } from "../system/database.ts";
import { createTenant, type System, type Tenant } from "../system/system.ts";
import { createAccounting, startReconcilingSystem } from "./accounting.ts";

let system: System;
let tenant: Tenant;
beforeAll(async () => {
  system = await startReconcilingSystem();
});
afterAll(() => system?.stop());

const { backUp, completeTurns, expectBalance, expectConsistentTurns, countRepairs } = createAccounting(() => ({
  system,
  tenant,
}));

/** Creates the test's tenant and completes some of its turns. */
async function createTenantWithTurns(turns: number): Promise<void> {
  tenant = await createTenant(system.admin);
  await completeTurns(turns);
}

test("the reconciler counts the lost replies again after a restore of quota loses 5 turns", async () => {
  await createTenantWithTurns(2);
  const restore = await backUp("quota");
  await completeTurns(5);
  await restore();
  await expectConsistentTurns(7);
  expect(await countRepairs("reply_not_counted")).toBe(5);
}, 60_000);

test("the reconciler subtracts the lost replies after a restore of conversation loses 5 turns", async () => {
  await createTenantWithTurns(2);
  const restoreOld = await backUp("conversation");
  await completeTurns(5);
  const restoreNew = await backUp("conversation");
  await restoreOld();
  await expectConsistentTurns(2);
  const { entries } = await queryFirstRow<{ entries: number }>(
    system.database,
    `SELECT count(*)::integer AS entries FROM quota.adjustments
     WHERE workspace_id = $1 AND amount = -1 AND reason = 'reconciled'`,
    [tenant.workspaceId],
  );
  expect(entries).toBe(5);
  // A later restore brings the replies back.
  await restoreNew();
  await expectConsistentTurns(7);
}, 60_000);

test("the reconciler settles the hold of a closed turn whose settlement was lost after its outbox row was deleted", async () => {
  await createTenantWithTurns(1);
  // The reply takes 4 s, in which the backup is made.
  system.provider.script([{ everyMs: 400 }]);
  const streaming = chat(system.url(), tenant);
  await expectBalance({ held: 1 });
  const restore = await backUp("quota");
  await streaming;
  await expectBalance({ used: 2, held: 0, outbox: 0 });
  // A reconciliation compares first the holds, then the turns that were closed at least 1 s ago. If the restore falls between these
  // comparisons, the comparison of turns would find this turn first, and the repair would not be hold_not_settled. The new closed_at
  // prevents that.
  await restore(`UPDATE conversation.turns SET closed_at = now() WHERE workspace_id = '${tenant.workspaceId}';`);
  await expectConsistentTurns(2);
  expect(await countRepairs("hold_not_settled")).toBe(1);
}, 60_000);
