import { randomUUID } from "node:crypto";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import type { AuditLogEntry } from "@parley/rpc/access";
import { BotAdminService } from "@parley/rpc/conversation";
import { adminAccessOf } from "@parley/service-kit";
import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { chat } from "../system/chat.ts";
import { cliEnv, runCliJson } from "../system/cli.ts";
import { databaseOf, queryFirstRow } from "../system/database.ts";
import { joinSharedSystem, type SharedSystem } from "../system/shared-system.ts";
import { serviceDatabaseUrl } from "../system/system.ts";
import { isAdminMethod, METHODS } from "./methods.ts";
import { createOpsTransport, createOwner } from "./owner.ts";

const INSUFFICIENT_PRIVILEGE = "42501";

let system: SharedSystem;
beforeAll(async () => {
  system = await joinSharedSystem();
  await system.startEdge();
});
afterAll(() => system?.stop());

const summary = ({ member, method, target, changedFields }: AuditLogEntry) => ({
  member,
  method,
  target,
  changedFields,
});

function callEdge(token: string, method: string, path: string, body?: object): Promise<Response> {
  return fetch(`${system.url()}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body && { "content-type": "application/json" }) },
    ...(body && { body: JSON.stringify(body) }),
  });
}

/** Starts the only session of the owner's workspace. */
async function startSession(owner: Awaited<ReturnType<typeof createOwner>>, visitorId: string): Promise<string> {
  await chat(system.url(), owner, { visitor_id: visitorId });
  const { sessionId } = await queryFirstRow<{ sessionId: string }>(
    system.database,
    'SELECT session_id AS "sessionId" FROM conversation.sessions WHERE workspace_id = $1',
    [owner.workspaceId],
  );
  return sessionId;
}

test("the audit log names the member (empty for the operator), the target and the changed fields of each change, and no content", async () => {
  const { workspaceId, botSlug, publicKey, bots, keys, auditLog, quotaAuditLog } = await createOwner(system);
  const startedAt = Date.now();
  // `bots` and `keys` call as the member anna; `system.admin` calls as the operator.
  await bots.updateBot({
    slug: botSlug,
    changes: { systemPrompt: "content-marker", name: "content-marker", consentText: "content-marker" },
  });
  await keys.revokeKey({ publicKey });
  await system.admin.knowledge.addSource({
    workspaceId,
    botSlug,
    name: "prices.txt",
    format: "txt",
    content: Buffer.from("content-marker"),
  });
  await system.admin.workspaces.setPlan({ workspaceId, plan: "scale" });

  const listed = (await auditLog.listAuditLogEntries({})).entries;
  expect(listed.slice(0, 3).map(summary)).toEqual([
    {
      member: "",
      method: "KnowledgeAdminService/AddSource",
      target: expect.objectContaining({ bot_slug: botSlug, name: "prices.txt" }),
      changedFields: [],
    },
    {
      member: "anna",
      method: "KeyAdminService/RevokeKey",
      target: { bot_slug: botSlug, public_key: publicKey },
      changedFields: [],
    },
    {
      member: "anna",
      method: "BotAdminService/UpdateBot",
      target: { id: expect.any(String), slug: botSlug },
      changedFields: ["system_prompt", "name", "consent_text"],
    },
  ]);
  expect(JSON.stringify(listed.map(summary))).not.toContain("content-marker");
  for (const { changedAt } of listed.slice(0, 3))
    expect(Math.abs(Date.parse(changedAt) - startedAt)).toBeLessThan(60_000);
  // The request of CreateWorkspace had no workspace ID, so the audit log takes the ID from the response.
  expect((await quotaAuditLog.listAuditLogEntries({})).entries.map(summary)).toEqual([
    expect.objectContaining({ member: "", method: "WorkspaceAdminService/SetPlan" }),
    expect.objectContaining({ member: "", method: "WorkspaceAdminService/CreateWorkspace" }),
  ]);
  const cli = await runCliJson<{ method: string; member: string }[]>(
    ["audit-log", "--workspace", workspaceId, "--limit", "3"],
    cliEnv(system),
  );
  expect(cli.map(({ member, method }) => [member, method])).toEqual([
    ["", "WorkspaceAdminService/SetPlan"],
    ["", "KnowledgeAdminService/AddSource"],
    ["anna", "KeyAdminService/RevokeKey"],
  ]);
});

test("the audit log names the member who deletes a session or erases a visitor at the edge, and does not name the visitor", async () => {
  const owner = await createOwner(system);
  const { workspaceId, auditLog } = owner;
  const visitorId = "visitor-marker";
  const sessionId = await startSession(owner, visitorId);
  const send = (method: string, path: string, body?: object) => callEdge(owner.token, method, path, body);
  expect((await send("DELETE", `/api/conversations/${randomUUID()}/`)).status).toBe(404);
  expect((await send("DELETE", `/api/conversations/${sessionId}/`)).status).toBe(204);
  expect((await send("DELETE", `/api/conversations/${sessionId}/`)).status).toBe(404);
  expect((await send("POST", "/api/conversations/erase/", { visitor_id: visitorId })).status).toBe(202);
  const listed = (await auditLog.listAuditLogEntries({ pageSize: 2 })).entries;
  expect(listed.map(summary)).toEqual([
    { member: "anna", method: "SessionAdminService/EraseVisitor", target: {}, changedFields: [] },
    {
      member: "anna",
      method: "SessionAdminService/DeleteSession",
      target: { session_id: sessionId },
      changedFields: [],
    },
  ]);
  expect(listed.every((each) => each.workspaceId === workspaceId)).toBe(true);
  const methods = (await auditLog.listAuditLogEntries({ pageSize: 500 })).entries.map(({ method }) => method);
  expect(methods.filter((method) => method.startsWith("SessionAdminService/"))).toHaveLength(2);
  expect(JSON.stringify(listed.map(summary))).not.toContain(visitorId);
});

test("the audit log names the member and the person of each change of who answers a visitor, and no name or text", async () => {
  const owner = await createOwner(system);
  const { workspaceId, auditLog } = owner;
  const sessionId = await startSession(owner, "visitor");
  const contactId = randomUUID();
  await queryFirstRow(
    system.database,
    `UPDATE conversation.sessions SET contact_at = now(), contact_messages = jsonb_build_array(jsonb_build_object('id', $3::text))
     WHERE workspace_id = $1 AND session_id = $2 RETURNING session_id`,
    [workspaceId, sessionId, contactId],
  );
  const session = { session_id: sessionId };
  const [ada, ben] = [
    { id: "a1", name: "name-marker" },
    { id: "b2", name: "name-marker" },
  ];
  const requests = [
    ["handoff", { action: "take", agent: ada }],
    ["handoff", { action: "typing", agent: ada }],
    ["handoff", { action: "assign", agent: ben }],
    ["handoff", { action: "contact_done", agent: ada, contact_id: contactId }],
    ["handoff", { action: "resolve", agent: ada }],
    ["notes", { text: "text-marker", agent: ada, request_id: randomUUID() }],
  ] as const;
  for (const [path, body] of requests)
    for (let sent = 0; sent < 2; sent++) {
      const url = `/api/conversations/${sessionId}/${path}/`;
      expect((await callEdge(owner.token, "POST", url, body)).ok, JSON.stringify(body)).toBe(true);
    }
  const listed = (await auditLog.listAuditLogEntries({ pageSize: 6 })).entries.map(summary).toReversed();
  const change = (target: object) => ({
    member: "anna",
    method: "HandoffService/ChangeHandoff",
    target: { ...session, ...target },
    changedFields: [],
  });
  expect(listed.slice(1)).toEqual([
    change({ action: "take", agent_id: "a1" }),
    change({ action: "assign", agent_id: "b2" }),
    change({ action: "contact_done" }),
    change({ action: "resolve" }),
    { member: "anna", method: "HandoffService/AddNote", target: session, changedFields: [] },
  ]);
  expect(listed[0]?.method).not.toMatch(/^HandoffService/);
  expect(JSON.stringify(listed)).not.toContain("marker");
});

test("the audit log contains neither calls that read nor calls that failed", async () => {
  const { bots, keys, sessions, auditLog } = await createOwner(system);
  const countEntries = async () => (await auditLog.listAuditLogEntries({ pageSize: 500 })).entries.length;
  const before = await countEntries();
  await Promise.all([bots.listBots({}), keys.listKeys({}), sessions.listSessions({})]);
  await expect(bots.updateBot({ slug: "no-such-bot", changes: { name: "x" } })).rejects.toBeInstanceOf(ConnectError);
  await expect(sessions.eraseSession({ sessionId: randomUUID() })).rejects.toBeInstanceOf(ConnectError);
  await expect(bots.updateBot({ workspaceId: "ws_other", slug: "x" })).rejects.toBeInstanceOf(ConnectError);
  expect(await countEntries()).toBe(before);
});

test("the pages of the audit log list each change of the caller's workspace once, newest first", async () => {
  const { botSlug, bots, auditLog } = await createOwner(system);
  const other = await createOwner(system);
  for (let index = 0; index < 12; index++) {
    await bots.updateBot({ slug: botSlug, changes: { name: `n${index}` } });
    await other.bots.updateBot({ slug: other.botSlug, changes: { name: `n${index}` } });
  }
  const pages: AuditLogEntry[] = [];
  let pageToken = "";
  do {
    const page = await auditLog.listAuditLogEntries({ pageSize: 5, pageToken });
    expect(page.entries.length).toBeLessThanOrEqual(5);
    pages.push(...page.entries);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  expect(pages.map(summary)).toEqual((await auditLog.listAuditLogEntries({ pageSize: 500 })).entries.map(summary));
  expect(pages.filter(({ method }) => method === "BotAdminService/UpdateBot")).toHaveLength(12);
  expect(pages.every(({ target }) => target.slug !== other.botSlug)).toBe(true);
  expect(pages.map(({ changedAt }) => changedAt)).toEqual(
    pages.map(({ changedAt }) => changedAt).sort((a, b) => b.localeCompare(a)),
  );
  for (const invalid of [{ pageToken: "x" }, { pageToken: "-1" }, { pageSize: 501 }, { pageSize: -1 }])
    await expect(auditLog.listAuditLogEntries(invalid)).rejects.toMatchObject({ code: Code.InvalidArgument });
});

test.each(["conversation", "quota"] as const)(
  "the database role of %s can change the audit log only by adding rows and by deleting rows older than 400 days",
  async (service) => {
    const workspaceId = `ws_${randomUUID()}`;
    const database = databaseOf(system, workspaceId);
    const client = new pg.Client({ connectionString: serviceDatabaseUrl(database.url, service) });
    await client.connect();
    try {
      // The column `method` of each row contains the row's age in days.
      for (const days of [1, 399, 401])
        await queryFirstRow(
          database,
          `INSERT INTO ${service}.audit_log (workspace_id, changed_at, method, target, changed_fields)
           VALUES ($1, now() - make_interval(days => $2), $2::text, '{}', '{}')`,
          [workspaceId, days],
        );
      for (const sql of [
        `UPDATE ${service}.audit_log SET member = 'x'`,
        `DELETE FROM ${service}.audit_log`,
        `TRUNCATE ${service}.audit_log`,
        `DROP FUNCTION ${service}.delete_expired_audit_log_entries()`,
      ])
        await expect(client.query(sql), sql).rejects.toMatchObject({ code: INSUFFICIENT_PRIVILEGE });
      await client.query(`SELECT ${service}.delete_expired_audit_log_entries()`);
      const { rows } = await client.query(
        `SELECT method FROM ${service}.audit_log WHERE workspace_id = $1 ORDER BY entry_id`,
        [workspaceId],
      );
      expect(rows.map(({ method }) => method)).toEqual(["1", "399"]);
    } finally {
      await client.end();
    }
  },
);

test("the audit log names a changed key and a changed pattern, but neither the key's domains nor the pattern's expression", async () => {
  const { workspaceId, botSlug, publicKey, keys, auditLog } = await createOwner(system);
  const { moderation } = system.admin;
  const { pattern } = await moderation.addPattern({ workspaceId, botSlug, pattern: "p" });
  const id = pattern?.id ?? 0n;
  await moderation.updatePattern({ workspaceId, botSlug, id, changes: { pattern: "content-marker", fallback: "" } });
  await keys.updateKey({ publicKey, domains: ["content-marker.example"] });
  const listed = (await auditLog.listAuditLogEntries({})).entries.slice(0, 2).map(summary);
  expect(listed).toEqual([
    {
      member: "anna",
      method: "KeyAdminService/UpdateKey",
      target: { bot_slug: botSlug, public_key: publicKey },
      changedFields: [],
    },
    {
      member: "",
      method: "ModerationAdminService/UpdatePattern",
      target: { bot_slug: botSlug, id: String(id) },
      changedFields: ["pattern", "fallback"],
    },
  ]);
});

test("a call fails with change_not_recorded if it cannot record the change that it made, and the service logs the change", async () => {
  const { workspaceId, botSlug, token } = await createOwner(system);
  const conversation = await system.startReplica("conversation");
  const bots = createClient(BotAdminService, createOpsTransport(conversation, token));
  const database = databaseOf(system, workspaceId);
  const alter = (action: string) => queryFirstRow(database, `ALTER TABLE conversation.audit_log ${action}`);
  await alter(`ADD CONSTRAINT refused CHECK (workspace_id <> '${workspaceId}') NOT VALID`);
  try {
    const error = await bots.updateBot({ slug: botSlug, changes: { name: "Renamed" } }).then(
      () => undefined,
      (cause: unknown) => ConnectError.from(cause),
    );
    expect(error?.code).toBe(Code.Unavailable);
    expect(error?.metadata.get("parley-code")).toBe("change_not_recorded");
    expect((await bots.getBot({ slug: botSlug })).bot?.display?.name).toBe("Renamed");
  } finally {
    await alter("DROP CONSTRAINT refused");
  }
  const findLine = () =>
    conversation
      .outputs()
      .split("\n")
      .slice(0, -1)
      .find((each) => each.includes("change not recorded") && each.includes(workspaceId));
  // The service's output may arrive after its response.
  await expect
    .poll(() => JSON.parse(findLine() ?? "{}"), { timeout: 10_000 })
    .toMatchObject({
      member: "anna",
      method: "BotAdminService/UpdateBot",
      target: { slug: botSlug },
      changed_fields: ["name"],
    });
});

test("every admin method is declared as a change, unless its name begins with a verb for reading", () => {
  const reads = /^(Get|List|Show|Export|Sum|Compare|Check|Audit)/;
  for (const method of METHODS.filter(isAdminMethod))
    expect(adminAccessOf(method).changes, method.name).toBe(!reads.test(method.name));
});
