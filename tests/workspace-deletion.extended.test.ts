import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { readWorkspaceRows } from "./isolation/tenant-data.ts";
import { chat } from "./system/chat.ts";
import { cliEnv, runCliInProcess, runCliJson } from "./system/cli.ts";
import { queryFirstRow, readBalance } from "./system/database.ts";
import { createTenant, type System, startSystem } from "./system/system.ts";

let system: System;
beforeAll(async () => {
  system = await startSystem();
});
afterAll(() => system?.stop());

const parley = <T>(...args: string[]) => runCliJson<T>(args, cliEnv(system));

test("30 days after its deletion a workspace's content is erased, its usage stays, and it cannot be restored or created again", async () => {
  const tenant = await createTenant(system.admin, { model: "openai:echo" });
  const { workspaceId, botSlug } = tenant;
  const marker = `marker${randomUUID().replaceAll("-", "")}`;
  const bot = { workspaceId, botSlug };
  await system.admin.knowledge.addSource({ ...bot, name: "a.txt", format: "txt", content: Buffer.from(marker) });
  // The pattern must not match the reply, which repeats the message.
  await system.admin.moderation.addPattern({ ...bot, pattern: marker.slice(1), appliesTo: "reply" });
  await system.admin.bots.updateBot({ workspaceId, slug: botSlug, changes: { systemPrompt: marker } });
  await system.admin.cannedReplies.addCannedReply({ workspaceId, name: "n", text: marker });
  const { done } = await chat(system.url(), tenant, { message: `a${marker.slice(0, 3)}`, visitor_id: marker });
  expect(done).toMatchObject({ finish_reason: "stop" });
  await vi.waitFor(
    async () => {
      expect(await readBalance(system.database, workspaceId)).toMatchObject({ used: 1, outbox: 0 });
      expect(await readWorkspaceRows(system.database, workspaceId)).toContain("llm.calls");
    },
    { timeout: 20_000 },
  );
  expect(await readWorkspaceRows(system.database, workspaceId)).toContain(marker);

  await parley("workspace", "delete", workspaceId);
  const setDeletionAge = (days: number) =>
    queryFirstRow(
      system.database,
      "UPDATE conversation.workspace_deletions SET deleted_at = now() - make_interval(days => $2) WHERE workspace_id = $1",
      [workspaceId, days],
    );
  await setDeletionAge(29);
  const other = `ws_${randomUUID()}`;
  await queryFirstRow(
    system.database,
    "INSERT INTO conversation.workspace_deletions (workspace_id, deleted_at) VALUES ($1, now() - interval '31 days')",
    [other],
  );
  // When it starts, and then hourly, the conversation service erases the workspaces deleted more than 30 days ago. It sets erasing_at for all of
  // them before it erases the first one. So once `other` is erased, a missing erasing_at proves that this run skips the tenant's workspace.
  const replica = await system.startReplica("conversation");
  const countErasures = () =>
    queryFirstRow<{ begun: number; finished: number }>(
      system.database,
      `SELECT count(erasing_at)::integer AS begun, count(erased_at)::integer AS finished
       FROM conversation.workspace_deletions WHERE workspace_id IN ($1, $2)`,
      [workspaceId, other],
    );
  await expect.poll(countErasures, { timeout: 30_000 }).toEqual({ begun: 1, finished: 1 });
  expect(await readWorkspaceRows(system.database, workspaceId)).toContain(marker);
  await replica.stop();
  await setDeletionAge(31);
  await replica.start();
  // The erasure takes several transactions.
  await vi.waitFor(
    async () => {
      const rows = await readWorkspaceRows(system.database, workspaceId);
      // Finds the marker and the moderation pattern, which is the marker without its first letter.
      expect(rows).not.toContain(marker.slice(1));
      const tables = new Set(rows.split("\n").map((row) => row.split("{")[0]));
      expect(tables).toEqual(
        new Set([
          ...[
            "conversation.audit_log",
            "conversation.sessions",
            "conversation.turns",
            "conversation.workspace_deletions",
          ],
          ...["llm.calls", "quota.audit_log", "quota.ledger", "quota.reservations", "quota.usage", "quota.workspaces"],
        ]),
      );
    },
    { timeout: 30_000 },
  );

  expect(await readBalance(system.database, workspaceId)).toMatchObject({ done: 1, used: 1, ledger: 1, unbalanced: 0 });
  expect(await parley("usage-audit", "--workspace", workspaceId)).toMatchObject({ balanced: true });
  expect(await parley("usage", "--workspace", workspaceId)).toMatchObject({ used: 1 });
  const billed = await parley<{ workspaces: { id: string }[] }>("usage", "--all");
  expect(billed.workspaces.map(({ id }) => id)).toContain(workspaceId);
  const later = await parley<{ workspaces: { id: string }[] }>("usage", "--all", "--month", "2999-01");
  expect(later.workspaces.map(({ id }) => id)).not.toContain(workspaceId);
  const restored = await runCliInProcess(["workspace", "restore", workspaceId], cliEnv(system));
  expect([restored.code, restored.stderr]).toEqual([
    1,
    expect.stringContaining("erasure of the workspace's data has begun"),
  ]);
  const again = ["workspace", "create", "--name", "Again", "--plan", "free", "--id", workspaceId];
  expect((await runCliInProcess(again, cliEnv(system))).stderr).toContain("already exists");
});
