import { queryRows } from "@parley/test-support";
import { expect, it } from "vitest";
import { compareCharges } from "./charges.ts";
import { storeTurns } from "./messages.ts";
import { createWorkspaceDatabase } from "./testing/workspace-database.ts";

it("counts a missing and an additional charge even if the number of charges equals the number of replies", async () => {
  const workspaceId = "first";
  const url = await createWorkspaceDatabase(workspaceId);
  // Two workspaces with four turns each, and one turn in each session.
  await storeTurns(url, { workspaceId, turns: 8, workspaces: 2, turnsPerSession: 1 });
  expect(await compareCharges({ url }, workspaceId, 4)).toEqual({ missing: 0, additional: 0 });

  // Moves the first session's turn, with its charge, to the last session. The first session then has no charge, and the last one has two.
  await queryRows(
    url,
    `UPDATE conversation.turns SET session_id = (SELECT max(session_id::text)::uuid FROM conversation.turns WHERE workspace_id = $1)
     WHERE turn_id = (SELECT turn_id FROM conversation.turns WHERE workspace_id = $1 ORDER BY session_id LIMIT 1)`,
    [workspaceId],
  );
  expect(await compareCharges({ url }, workspaceId, 4)).toEqual({ missing: 1, additional: 1 });
});

it("counts a charge without a turn as additional", async () => {
  const workspaceId = "first";
  const url = await createWorkspaceDatabase(workspaceId);
  await storeTurns(url, { workspaceId, turns: 4, turnsPerSession: 1 });
  await queryRows(
    url,
    "INSERT INTO quota.ledger (workspace_id, month, turn_id) VALUES ($1, '2026-11-01', gen_random_uuid())",
    [workspaceId],
  );
  expect(await compareCharges({ url }, workspaceId, 4)).toEqual({ missing: 0, additional: 1 });
});
