import type { Database, Queryable } from "@parley/service-kit";
import { type ContactMessage, IS_LISTED } from "./session-fields.store.ts";

export type SessionDetails = {
  id: string;
  botSlug: string;
  /** "widget" or "playground". */
  source: string;
  startedAt: Date;
  lastActivityAt: Date;
  visitorId: string;
  visitorVerified: boolean;
  /** A JSON object. */
  visitorMetadata: string;
  referrer: string;
  userAgent: string;
  /** The version of the bot's consent that the visitor agreed to; empty if none. */
  consentVersion: string;
  consentedAt: Date | null;
  contactMessages: ContactMessage[];
  /** Whether the team is not done with them. */
  contactPending: boolean;
};

/** Undefined if there is no such session or if it was deleted or erased. */
export async function findSession(
  database: Database,
  workspaceId: string,
  sessionId: string,
): Promise<SessionDetails | undefined> {
  const { rows } = await database.query<SessionDetails>(
    `SELECT s.session_id AS id, b.slug AS "botSlug", s.source, s.started_at AS "startedAt", s.last_activity_at AS "lastActivityAt",
            coalesce(s.visitor_id, '') AS "visitorId", s.visitor_verified AS "visitorVerified",
            coalesce(s.visitor_metadata, '{}')::text AS "visitorMetadata",
            coalesce(s.referrer, '') AS referrer, coalesce(s.user_agent, '') AS "userAgent",
            coalesce(s.consent_version, '') AS "consentVersion", s.consented_at AS "consentedAt",
            coalesce(s.contact_messages, '[]') AS "contactMessages", s.contact_at IS NOT NULL AS "contactPending"
     FROM conversation.sessions s
     JOIN conversation.bots b ON b.workspace_id = s.workspace_id AND b.bot_id = s.bot_id
     WHERE s.workspace_id = $1 AND s.session_id = $2 AND ${IS_LISTED}`,
    [workspaceId, sessionId],
  );
  return rows[0];
}

/** Hides a session but keeps its content. Returns false if there is no such session or if it was deleted or erased before. */
export async function deleteSession(database: Queryable, workspaceId: string, sessionId: string): Promise<boolean> {
  const { rowCount } = await database.query(
    `UPDATE conversation.sessions SET deleted_at = now()
     WHERE workspace_id = $1 AND session_id = $2 AND deleted_at IS NULL AND erased_at IS NULL`,
    [workspaceId, sessionId],
  );
  return rowCount === 1;
}
