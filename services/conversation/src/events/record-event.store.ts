import type { Queryable } from "@parley/service-kit";

/** SQL expressions for an event, which may use the columns of `source`. */
export type EventExpressions = {
  /** The CTE whose rows are recorded as one event each. */
  source: string;
  /** The rows that are events; by default all. */
  where?: string;
  workspace: string;
  type: string;
  /** The session's id; NULL for an event about no session. */
  session: string;
  /** A jsonb of ids and counts, without texts of visitors and models. */
  data: string;
  /** A UUID; by default a new one. */
  id?: string;
  /** By default the time of the statement. */
  occurredAt?: string;
};

/**
 * SQL for whether an event is also e-mailed to the workspace's recipients. The texts of its message are in emails/render-email.ts. For a constant type
 * that is not, PostgreSQL replaces the expression by false.
 */
export const isMailedSql = (type: string, data: string) =>
  `(${type} IN ('webhook.disabled', 'handoff.requested', 'handoff.contact') OR ${type} = 'knowledge.failed' AND ${data} ->> 'refresh' = 'true'
    OR ${type} = 'usage.threshold' AND ${data} ->> 'threshold' IN ('80', '100'))`;

/**
 * The body of a CTE that records events in the statement that causes them. It records nothing for a workspace without an enabled endpoint or a
 * recipient of e-mail that wants the type, whose turns therefore cost one probe of a small table's index more.
 */
export function recordEventSql({
  source,
  where = "true",
  workspace,
  type,
  session,
  data,
  ...rest
}: EventExpressions): string {
  const { id = "gen_random_uuid()", occurredAt = "now()" } = rest;
  return `
    INSERT INTO conversation.events (workspace_id, event_id, type, occurred_at, session_id, data)
    SELECT ${workspace}, ${id}, ${type}, ${occurredAt}, ${session}, ${data}
    FROM ${source}
    WHERE ${where} AND EXISTS (
      SELECT FROM conversation.webhook_endpoints w
      WHERE w.workspace_id = ${workspace} AND w.disabled_at IS NULL AND (w.types = '{}' OR ${type} = ANY (w.types))
      UNION ALL
      SELECT FROM conversation.email_recipients r WHERE r.workspace_id = ${workspace} AND ${isMailedSql(type, data)}
    )`;
}

/** SQL for a bot's slug, which events contain as `bot_slug`. */
export const botSlugSql = (workspace: string, botId: string) =>
  `(SELECT b.slug FROM conversation.bots b WHERE b.workspace_id = ${workspace} AND b.bot_id = ${botId})`;

const RECORD_KNOWLEDGE_FAILED = `
  WITH failed AS (
    SELECT EXISTS (
      SELECT FROM conversation.bots b
      JOIN conversation.knowledge_sources s ON s.workspace_id = b.workspace_id AND s.bot_id = b.bot_id AND s.name = $3
      WHERE b.workspace_id = $1 AND b.slug = $2 AND b.deleted_at IS NULL
    ) AS is_refresh
  )
  ${recordEventSql({
    source: "failed",
    workspace: "$1",
    type: "'knowledge.failed'",
    session: "NULL::uuid",
    data: `jsonb_build_object('bot_slug', $2::text, 'name', $3::text, 'code', $4::text, 'refresh', coalesce($5::boolean, failed.is_refresh))
           || CASE WHEN $6::bigint IS NULL THEN '{}' ELSE jsonb_build_object('site_id', $6::bigint) END`,
  })}`;

const RECORD_WEBHOOK_DISABLED = `
  WITH disabled AS (SELECT)
  ${recordEventSql({
    source: "disabled",
    workspace: "$1",
    type: "'webhook.disabled'",
    session: "NULL::uuid",
    data: "jsonb_build_object('webhook_id', $2::text, 'host', $3::text, 'reason', $4::text)",
  })}`;

/** Records that an endpoint was disabled because its receiver failed. `host` is the URL's; its path may contain secrets. */
export async function recordWebhookDisabled(
  database: Queryable,
  { workspaceId, id, host, reason }: { workspaceId: string; id: string; host: string; reason: string },
): Promise<void> {
  await database.query({
    name: "record_webhook_disabled",
    text: RECORD_WEBHOOK_DISABLED,
    values: [workspaceId, id, host, reason],
  });
}

type KnowledgeFailure = {
  workspaceId: string;
  botSlug: string;
  name: string;
  code: string;
  /** Whether this was not the first attempt; by default whether the bot has a document of this name. */
  isRefresh?: boolean;
  /** Set if it is a whole site, not one page. */
  siteId?: number;
};

/** Records that a document could not be added or refreshed from its URL, or that the crawl of a site failed. */
export async function recordKnowledgeFailed(
  database: Queryable,
  { workspaceId, botSlug, name, code, isRefresh, siteId }: KnowledgeFailure,
): Promise<void> {
  await database.query({
    name: "record_knowledge_failed",
    text: RECORD_KNOWLEDGE_FAILED,
    values: [workspaceId, botSlug, name, code, isRefresh ?? null, siteId ?? null],
  });
}
