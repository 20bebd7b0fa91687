import { randomUUID } from "node:crypto";
import { expect, vi } from "vitest";
import { chat } from "../system/chat.ts";
import { databaseOf, queryFirstRow, readBalance } from "../system/database.ts";
import type { SharedSystem } from "../system/shared-system.ts";
import { createTenant, type Tenant } from "../system/system.ts";
import { AGENT, ORDER_TOOL, SITE_URL, type TenantData, WEBHOOK_URL } from "./rpc-cases.ts";

export type TenantDataWithKey = TenantData & { publicKey: string };

/** Creates a tenant with one bot, session, note, agent, turn, pattern, canned reply, source, site, tool, evaluation case, identity key, webhook, recipient of e-mail and credit, and returns their identifiers. */
export async function createTenantData(system: SharedSystem): Promise<TenantDataWithKey> {
  const tenant = await createTenant(system.admin, { model: "openai:default" });
  const { workspaceId, botSlug, publicKey } = tenant;
  const { pattern } = await system.admin.moderation.addPattern({ workspaceId, botSlug, pattern: "never" });
  const { answer } = await system.admin.answers.addAnswer({ workspaceId, botSlug, questions: ["never"], answer: "a" });
  const { reply } = await system.admin.cannedReplies.addCannedReply({ workspaceId, name: "n", text: "t" });
  const sourceName = `source-${randomUUID()}.txt`;
  const content = Buffer.from("Refunds take a week.");
  await system.admin.knowledge.addSource({ workspaceId, botSlug, name: sourceName, format: "txt", content });
  const added = await system.admin.evaluations.addCase({
    workspaceId,
    botSlug,
    question: "How long do refunds take?",
    document: sourceName,
  });
  const caseId = String(added.case?.id);
  const toolName = `tool_${randomUUID().slice(0, 8)}`;
  await system.admin.tools.putTool({
    workspaceId,
    botSlug,
    tool: { name: toolName, kind: { case: "http", value: ORDER_TOOL } },
  });
  const identity = await system.admin.identityKeys.createIdentityKey({ workspaceId });
  const kid = String(identity.key?.kid);
  const siteId = await addFailedSite(system, tenant);
  const changes = { url: WEBHOOK_URL, types: { values: ["knowledge.failed"] } };
  const webhook = await system.admin.webhooks.createEndpoint({ workspaceId, changes });
  const webhookId = String(webhook.endpoint?.id);
  const mailed = await system.admin.emails.addRecipient({ workspaceId, address: "owner@example.com" });
  const recipientId = String(mailed.recipient?.id);
  const creditId = randomUUID();
  const bought = { workspaceId, messages: 5, reason: "bought", operator: "ada", requestId: creditId };
  await system.admin.workspaces.addCredit(bought);
  const visitorId = `visitor-of-${workspaceId}`;
  await chat(system.url(), tenant, { visitor_id: visitorId });

  const ids = await queryFirstRow<{ botId: string; sessionId: string; turnId: string; messageId: string }>(
    system.database,
    `SELECT bot_id AS "botId", session_id AS "sessionId", turn_id AS "turnId", message_id AS "messageId"
     FROM conversation.turns WHERE workspace_id = $1`,
    [workspaceId],
  );
  // ListHandoffs lists it.
  await queryFirstRow(
    system.database,
    `UPDATE conversation.sessions
     SET handoff_state = 'assigned', handoff_at = now(), agent_id = $3, agent_name = $4, contact_at = now(),
         contact_messages = jsonb_build_array(jsonb_build_object(
           'id', session_id, 'email', workspace_id || '@example.com', 'message', 'write', 'created_at', '2026-11-21T02:32:49.562223+00:00'))
     WHERE workspace_id = $1 AND session_id = $2 RETURNING session_id`,
    [workspaceId, ids.sessionId, AGENT.id, AGENT.name],
  );
  await queryFirstRow(
    system.database,
    `INSERT INTO conversation.session_notes (workspace_id, session_id, request_id, after_message_id, author_id, author_name, content)
     VALUES ($1, $2, $2, $3, $4, $5, 'a note about ' || $1::text) RETURNING note_id`,
    [workspaceId, ids.sessionId, ids.messageId, AGENT.id, AGENT.name],
  );
  await queryFirstRow(
    system.database,
    `INSERT INTO conversation.agents (workspace_id, agent_id, name, seen_at)
     VALUES ($1, $2, 'a colleague in ' || $1::text, now()) RETURNING agent_id`,
    [workspaceId, AGENT.id],
  );
  // ListUsageByBot reads bot_reply_counts, which the conversation service updates only once a minute.
  await queryFirstRow(
    system.database,
    `INSERT INTO conversation.bot_reply_counts (workspace_id, hour, bot_id, month, replies)
     VALUES ($1, date_trunc('hour', now()), $2, date_trunc('month', now() AT TIME ZONE 'UTC'), 1)
     ON CONFLICT (workspace_id, hour, bot_id, month) DO UPDATE SET replies = 1 RETURNING replies`,
    [workspaceId, ids.botId],
  );
  // GetStatistics counts ratings immediately, but replies up to a minute later. Without this rating, its response could be empty.
  await fetch(`${system.url()}/api/chat/rating/`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: tenant.origin },
    body: JSON.stringify({
      public_key: publicKey,
      session_id: ids.sessionId,
      message_id: Number(ids.messageId),
      rating: "up",
    }),
  });
  return {
    workspaceId,
    botSlug,
    publicKey,
    sourceName,
    toolName,
    caseId,
    kid,
    webhookId,
    recipientId,
    siteId,
    creditId,
    visitorId,
    patternId: String(pattern?.id),
    answerId: String(answer?.id),
    replyId: String(reply?.id),
    ...ids,
  };
}

/** Adds a site whose crawl fails, and waits until it has, so that the crawler no longer changes its rows. */
async function addFailedSite(system: SharedSystem, { workspaceId, botSlug }: Tenant): Promise<string> {
  const { site } = await system.admin.sites.putSite({ workspaceId, botSlug, url: SITE_URL });
  const readState = async () => (await system.admin.sites.listSites({ workspaceId, botSlug })).sites[0]?.state;
  await vi.waitFor(async () => expect(await readState()).toBe("failed"), { timeout: 20_000, interval: 100 });
  return String(site?.id);
}

/** Waits until one reply of each tenant is settled and in the call log. */
export async function waitUntilRepliesRecorded(
  database: SharedSystem["database"],
  tenants: Pick<Tenant, "workspaceId">[],
): Promise<void> {
  const countCalls = "SELECT count(*)::integer AS calls FROM llm.calls WHERE workspace_id = $1";
  for (const { workspaceId } of tenants)
    await vi.waitFor(
      async () => {
        expect(await readBalance(database, workspaceId)).toMatchObject({ used: 1, held: 0, outbox: 0 });
        expect(await queryFirstRow(database, countCalls, [workspaceId])).toEqual({ calls: 1 });
      },
      { timeout: 20_000 },
    );
}

/** Returns every row of a workspace as text, without the reply counts and the last_used_on days, which background tasks store at any time. */
export async function readWorkspaceRows(database: SharedSystem["database"], workspaceId: string): Promise<string> {
  const { tables } = await queryFirstRow<{ tables: string }>(
    database,
    `SELECT string_agg(format('SELECT %L AS name, (to_jsonb(t) - ''last_used_on'')::text AS row FROM %s t WHERE workspace_id = %L', attrelid::regclass, attrelid::regclass, $1::text), ' UNION ALL ') AS tables
     FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
     WHERE attname = 'workspace_id' AND relkind = 'r' AND relnamespace::regnamespace::text IN ('conversation', 'quota', 'llm')
       AND relname NOT IN ('reply_counts', 'bot_reply_counts')`,
    [workspaceId],
  );
  const { all } = await queryFirstRow<{ all: string }>(
    databaseOf({ database }, workspaceId),
    `SELECT string_agg(name || row, E'\\n' ORDER BY name, row) AS all FROM (${tables}) every_table`,
  );
  return all;
}
