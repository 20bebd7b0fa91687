import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { readSse } from "@parley/test-support";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { chat, exportTranscript, postChat } from "./system/chat.ts";
import { cliEnv, runCliInProcess, runCliJson } from "./system/cli.ts";
import { readBalance } from "./system/database.ts";
import { joinSharedSystem, type SharedSystem } from "./system/shared-system.ts";
import { createTenant, type Tenant } from "./system/system.ts";

let system: SharedSystem;
beforeAll(async () => {
  system = await joinSharedSystem();
  await system.startEdge();
});
afterAll(() => system?.stop());

const parley = <T>(...args: string[]) => runCliJson<T>(args, cliEnv(system));

/** Calls the main endpoints for visitors and members. Returns a line per response, without the session's id. */
async function callMainEndpoints(tenant: Tenant, sessionId: string): Promise<string[]> {
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
  // Last, because deleting the session would cut its export.
  const deleted = await send(`/api/conversations/${sessionId}/`, { method: "DELETE", headers: { authorization } });
  return [...responses, deleted];
}

/**
 * Waits at most 5 s until both a chat and an export are refused. They may be refused at different times, because the edge caches keys and
 * the conversation service reads the list of deleted workspaces periodically.
 */
async function waitUntilRefused(tenant: Tenant, sessionId: string): Promise<void> {
  const startedAt = performance.now();
  for (;;) {
    const sentAt = performance.now();
    const isKeyRefused = (await postChat(system.url(), tenant)).status === 401;
    if (isKeyRefused && (await exportTranscript(system, tenant, sessionId)).status === 404) return;
    expect(sentAt - startedAt).toBeLessThan(5_000);
    await sleep(200);
  }
}

/** Calls the main endpoints for a workspace and a key that never existed. Returns the responses. */
function callForMissingWorkspace({ publicKey, ...tenant }: Tenant): Promise<string[]> {
  const unknownKey = `${publicKey.slice(0, -6)}AAAAAA`;
  return callMainEndpoints({ ...tenant, publicKey: unknownKey, workspaceId: `ws_${randomUUID()}` }, randomUUID());
}

/** Reads up to the next event of this name. */
async function skipTo(parts: ReturnType<typeof readSse>, name: string) {
  let part = await parts.next();
  while (!part.done && !("event" in part.value && part.value.event === name)) part = await parts.next();
  return part;
}

test("a deleted workspace responds like a missing one within 5 s, a reply in progress is still counted, a visitor can still be erased, and restore undoes the deletion", async () => {
  const tenant = await createTenant(system.admin, { model: "openai:tokens-100-every-2" });
  const { workspaceId } = tenant;
  const sessionId = randomUUID();
  expect((await chat(system.url(), tenant, { session_id: sessionId })).done).toMatchObject({ finish_reason: "stop" });
  const visitor = { session_id: randomUUID(), visitor_id: "v-1" };
  expect((await chat(system.url(), tenant, visitor)).done).toMatchObject({ finish_reason: "stop" });
  const missing = await callForMissingWorkspace(tenant);
  expect(await callMainEndpoints(tenant, randomUUID())).not.toEqual(missing);

  const open = readSse(await postChat(system.url(), tenant, { message: "Still open" }));
  // The response starts before the message is reserved, and its text afterwards.
  const { value: first } = await skipTo(open, "token");
  expect(first).toMatchObject({ event: "token" });
  const deleted = await parley<{ deleted_at: string; erase_at: string }>("workspace", "delete", workspaceId);
  expect(Date.parse(deleted.erase_at) - Date.parse(deleted.deleted_at)).toBe(30 * 86_400_000);
  expect((await skipTo(open, "done")).value).toMatchObject({ data: { finish_reason: "stop" } });
  await waitUntilRefused(tenant, sessionId);
  expect(await callMainEndpoints(tenant, sessionId)).toEqual(missing);
  // The admin services answer a member as if the workspace were missing. The operator still sees the workspace, but cannot add
  // a bot or change the plan.
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
  expect(await parley("bot", "list", "--workspace", workspaceId)).toContainEqual(
    expect.objectContaining({ slug: tenant.botSlug }),
  );
  expect((await runCliInProcess(["workspace", "set-plan", workspaceId, "free"], cliEnv(system))).code).toBe(1);
  expect(await parley("workspace", "list")).toContainEqual(
    expect.objectContaining({ id: workspaceId, deleted_at: expect.stringMatching(/Z$/) }),
  );
  const erasure = await fetch(`${system.url()}/api/conversations/erase/`, {
    method: "POST",
    headers: { ...member, "content-type": "application/json" },
    body: JSON.stringify({ visitor_id: visitor.visitor_id }),
  });
  expect([erasure.status, await erasure.json()]).toEqual([202, expect.objectContaining({ conversations: 1 })]);
  // Repeating the command, for example after a lost response, does not change the time of the deletion.
  expect(await parley("workspace", "delete", workspaceId)).toEqual({ id: workspaceId, ...deleted });

  expect(await parley("workspace", "restore", workspaceId)).toEqual({ id: workspaceId, restored: true });
  expect(await parley("workspace", "restore", workspaceId)).toEqual({ id: workspaceId, restored: true });
  await vi.waitFor(
    async () => expect((await chat(system.url(), tenant)).done).toMatchObject({ finish_reason: "stop" }),
    { timeout: 20_000, interval: 500 },
  );
  expect((await exportTranscript(system, tenant, sessionId)).status).toBe(200);
  await vi.waitFor(async () => expect((await exportTranscript(system, tenant, visitor.session_id)).status).toBe(404));
  // Five replies: to the first message, to the erased visitor's, to one message of callMainEndpoints before the deletion, to "Still open", and to the message after the
  // restore. callMainEndpoints sends two messages to one session. A session belongs either to the widget or to the playground, so one of the
  // two is refused.
  await vi.waitFor(
    async () =>
      expect(await readBalance(system.database, workspaceId)).toMatchObject({
        used: 5,
        held: 0,
        streaming: 0,
        unbalanced: 0,
      }),
    { timeout: 20_000 },
  );
  const changes = await parley<{ method: string }[]>("audit-log", "--workspace", workspaceId, "--limit", "3");
  expect(changes.map(({ method }) => method)).toEqual([
    "WorkspaceDeletionAdminService/RestoreWorkspace",
    "WorkspaceDeletionAdminService/RestoreWorkspace",
    "WorkspaceDeletionAdminService/DeleteWorkspace",
  ]);
});
