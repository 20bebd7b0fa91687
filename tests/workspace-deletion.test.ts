import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { readWorkspaceRows } from "./isolation/tenant-data.ts";
import { chat, exportTranscript, postChat, readChat } from "./system/chat.ts";
import { cliEnv, runCliInProcess, runCliJson } from "./system/cli.ts";
import { queryFirstRow, readBalance } from "./system/database.ts";
import { joinSharedSystem, type SharedSystem } from "./system/shared-system.ts";
import { createTenant, type Tenant } from "./system/system.ts";

let system: SharedSystem;
beforeAll(async () => {
  system = await joinSharedSystem();
  await system.startEdge();
});
afterAll(() => system?.stop());

const parley = <T>(...args: string[]) => runCliJson<T>(args, cliEnv(system));

/** Requests the main endpoints that a workspace's visitors and members can reach. Returns the responses without the session's id. */
async function callEverything(tenant: Tenant, sessionId: string): Promise<string[]> {
  const authorization = `Bearer ${await system.sso.token({ workspaceId: tenant.workspaceId, role: "owner" })}`;
  const json = { "content-type": "application/json", origin: tenant.origin };
  const { publicKey: public_key, botSlug: bot_slug } = tenant;
  const message = { session_id: sessionId, message: "Hello?" };
  const post = (body: object, headers: object = {}) => ({
    method: "POST",
    headers: { ...json, ...headers },
    body: JSON.stringify(body),
  });
  const calls: [path: string, init: RequestInit][] = [
    ["/api/chat/", post({ public_key, ...message })],
    [`/api/widget/config/?public_key=${public_key}`, { headers: { origin: tenant.origin } }],
    ["/api/chat/rating/", post({ public_key, session_id: sessionId, message_id: 1, rating: "up" })],
    ["/api/chat/playground/", post({ bot_slug, ...message }, { authorization })],
    [`/api/conversations/${sessionId}/export.json`, { headers: { authorization } }],
    ["/api/conversations/", { headers: { authorization } }],
    ["/api/conversations/export.ndjson", { headers: { authorization } }],
  ];
  const send = async (path: string, init: RequestInit) => {
    const response = await fetch(`${system.url()}${path}`, init);
    return `${init.method ?? "GET"} ${path.split("?")[0]?.replace(sessionId, "ID")} ${response.status} ${await response.text()}`;
  };
  const responses = await Promise.all(calls.map(([path, init]) => send(path, init)));
  // The deletion comes last, because an export is cut if its session is deleted during the export.
  const deleted = await send(`/api/conversations/${sessionId}/`, { method: "DELETE", headers: { authorization } });
  return [...responses, deleted];
}

/**
 * Sends requests for a workspace that was just deleted until all are refused, which must happen within 5 s. Chats and exports are refused at
 * different times: the edge caches keys, and the conversation service reads the list of deleted workspaces periodically.
 */
async function waitUntilHidden(tenant: Tenant, sessionId: string): Promise<void> {
  const startedAt = performance.now();
  for (;;) {
    const sentAt = performance.now();
    const isKeyRefused = (await postChat(system.url(), tenant)).status === 401;
    if (isKeyRefused && (await exportTranscript(system, tenant, sessionId)).status === 404) return;
    expect(sentAt - startedAt).toBeLessThan(5_000);
    await sleep(200);
  }
}

/** Returns the responses for a workspace and a key that never existed. */
function callForMissing({ publicKey, ...tenant }: Tenant): Promise<string[]> {
  const unknownKey = `${publicKey.slice(0, -6)}AAAAAA`;
  return callEverything({ ...tenant, publicKey: unknownKey, workspaceId: `ws_${randomUUID()}` }, randomUUID());
}

test("a deleted workspace responds like a missing one within 5 s, an open reply still counts, and restore undoes the deletion", async () => {
  const tenant = await createTenant(system.admin, { model: "openai:tokens-100-every-2" });
  const { workspaceId } = tenant;
  const sessionId = randomUUID();
  expect((await chat(system.url(), tenant, { session_id: sessionId })).done).toMatchObject({ finish_reason: "stop" });
  const missing = await callForMissing(tenant);
  expect(await callEverything(tenant, randomUUID())).not.toEqual(missing);

  const open = await postChat(system.url(), tenant, { message: "Still open" });
  const deleted = await parley<{ deleted_at: string; erase_at: string }>("workspace", "delete", workspaceId);
  expect(Date.parse(deleted.erase_at) - Date.parse(deleted.deleted_at)).toBe(30 * 86_400_000);
  expect((await readChat(open)).done).toMatchObject({ finish_reason: "stop" });
  await waitUntilHidden(tenant, sessionId);
  expect(await callEverything(tenant, sessionId)).toEqual(missing);
  // The admin services answer a member as if the workspace were missing. The operator still sees the workspace, but cannot add to it.
  const member = { authorization: `Bearer ${await system.sso.token({ workspaceId, role: "owner" })}` };
  for (const [{ opsPort }, method] of [
    [system.quota, "quota.v1.WorkspaceAdminService/ShowUsage"],
    [system.conversation, "conversation.v1.BotAdminService/ListBots"],
  ] as const) {
    const response = await fetch(`http://127.0.0.1:${opsPort}/parley.${method}`, {
      method: "POST",
      headers: { "content-type": "application/json", ...member },
      body: "{}",
    });
    expect([response.status, response.headers.get("parley-code")]).toEqual([404, "workspace_not_found"]);
  }
  const refused = await runCliInProcess(["bot", "create", "--workspace", workspaceId, "--slug", "new"], cliEnv(system));
  expect(refused.stderr).toContain("no such workspace");
  expect((await runCliInProcess(["workspace", "set-plan", workspaceId, "free"], cliEnv(system))).code).toBe(1);
  expect(await parley("workspace", "list")).toContainEqual(
    expect.objectContaining({ id: workspaceId, deleted_at: expect.stringMatching(/Z$/) }),
  );
  // Repeating the command, for example after a lost response, does not change the time of the deletion.
  expect(await parley("workspace", "delete", workspaceId)).toEqual({ id: workspaceId, ...deleted });

  expect(await parley("workspace", "restore", workspaceId)).toEqual({ id: workspaceId, restored: true });
  expect(await parley("workspace", "restore", workspaceId)).toEqual({ id: workspaceId, restored: true });
  await vi.waitFor(
    async () => expect((await chat(system.url(), tenant)).done).toMatchObject({ finish_reason: "stop" }),
    { timeout: 20_000, interval: 500 },
  );
  expect((await exportTranscript(system, tenant, sessionId)).status).toBe(200);
  // The first message, one of callEverything, the open reply and the last message. callEverything sends two messages to one session, but a session
  // belongs to the widget or to the playground, so one of them is refused.
  await vi.waitFor(
    async () =>
      expect(await readBalance(system.database, workspaceId)).toMatchObject({
        used: 4,
        held: 0,
        streaming: 0,
        unbalanced: 0,
      }),
    { timeout: 20_000 },
  );
  const changes = await parley<{ method: string }[]>("changes", "--workspace", workspaceId, "--limit", "3");
  expect(changes.map(({ method }) => method)).toEqual([
    "WorkspaceDeletionAdminService/RestoreWorkspace",
    "WorkspaceDeletionAdminService/RestoreWorkspace",
    "WorkspaceDeletionAdminService/DeleteWorkspace",
  ]);
});

test("30 days after its deletion a workspace's content is erased, its usage stays, and it cannot be restored or created again", async () => {
  const tenant = await createTenant(system.admin, { model: "openai:echo" });
  const { workspaceId, botSlug } = tenant;
  const marker = `marker${randomUUID().replaceAll("-", "")}`;
  const bot = { workspaceId, botSlug };
  await system.admin.knowledge.addSource({ ...bot, name: "a.txt", format: "txt", content: Buffer.from(marker) });
  // The pattern must not match the reply, which repeats the message.
  await system.admin.moderation.addPattern({ ...bot, pattern: marker.slice(1), appliesTo: "reply" });
  await system.admin.bots.updateBot({ workspaceId, slug: botSlug, changes: { systemPrompt: marker } });
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
  // The conversation service erases deleted workspaces when it starts, and then hourly. It marks all of them before it erases the first one.
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
      // The end of the marker is also the moderation pattern.
      expect(rows).not.toContain(marker.slice(1));
      const tables = new Set(rows.split("\n").map((row) => row.split("{")[0]));
      expect(tables).toEqual(
        new Set([
          ...[
            "conversation.changes",
            "conversation.sessions",
            "conversation.turns",
            "conversation.workspace_deletions",
          ],
          ...["llm.calls", "quota.changes", "quota.ledger", "quota.reservations", "quota.usage", "quota.workspaces"],
        ]),
      );
    },
    { timeout: 30_000 },
  );

  expect(await readBalance(system.database, workspaceId)).toMatchObject({ done: 1, used: 1, ledger: 1, unbalanced: 0 });
  expect(await parley("audit", "--workspace", workspaceId)).toMatchObject({ balanced: true });
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
