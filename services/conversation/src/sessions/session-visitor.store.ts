import type { Database } from "@parley/service-kit";

/** The visitor of a request; `visitorId` is empty for a request without one. */
export type RequestVisitor = { visitorId: string; visitorVerified: boolean };

/** A request for a session. */
export type SessionRequest = RequestVisitor & { workspaceId: string; sessionId: string; botId: string };

/**
 * Returns a SQL condition: the visitor of a request may use the session `s`, a row of conversation.sessions that is not erased. A session with a
 * verified visitor is for requests of this visitor only. A verified visitor may not use a session with another id. The arguments are SQL
 * expressions, such as `$3` and `$4::boolean`.
 */
export const mayUseSessionSql = (visitorId: string, visitorVerified: string) =>
  `(${visitorVerified} AND s.visitor_id = ${visitorId} OR NOT s.visitor_verified AND (NOT ${visitorVerified} OR s.visitor_id = ''))`;

const REFUSES_TURN = `
  SELECT FROM conversation.sessions s
  WHERE s.workspace_id = $1 AND s.session_id = $2
    AND NOT (s.bot_id = $3 AND s.source = $4 AND s.deleted_at IS NULL AND s.erased_at IS NULL AND ${mayUseSessionSql("$5", "$6::boolean")})`;

/** Whether OpenTurn would refuse the session with session_not_found or visitor_mismatch. */
export async function refusesTurn(
  database: Database,
  { workspaceId, sessionId, botId, source, visitorId, visitorVerified }: SessionRequest & { source: string },
): Promise<boolean> {
  const { rowCount } = await database.query({
    name: "refuses_turn",
    text: REFUSES_TURN,
    values: [workspaceId, sessionId, botId, source, visitorId, visitorVerified],
  });
  return rowCount === 1;
}

const HAS_CONSENT = `
  SELECT FROM conversation.sessions s
  WHERE s.workspace_id = $1 AND s.session_id = $2 AND s.consent_version = $3 AND ($4 = '' OR s.visitor_id IN ('', $4))
    AND s.bot_id = $5 AND s.deleted_at IS NULL AND s.erased_at IS NULL AND ${mayUseSessionSql("$4", "$6::boolean")}`;

/**
 * Whether the request may use the session, and the session's visitor has agreed to a version of the bot's consent. The consent of another visitor does
 * not count.
 */
export async function hasConsent(
  database: Database,
  { workspaceId, sessionId, botId, visitorId, visitorVerified }: SessionRequest,
  version: string,
): Promise<boolean> {
  const { rowCount } = await database.query({
    name: "has_consent",
    text: HAS_CONSENT,
    values: [workspaceId, sessionId, version, visitorId, botId, visitorVerified],
  });
  return rowCount === 1;
}

const HAS_OTHER_VISITOR = `
  SELECT FROM conversation.sessions s
  WHERE s.workspace_id = $1 AND s.session_id = $2 AND s.bot_id = $3 AND s.source = 'widget' AND s.deleted_at IS NULL AND s.erased_at IS NULL
    AND NOT s.visitor_verified AND s.visitor_id NOT IN ('', $4)`;

/** Whether a bot's session has an unverified visitor with another id. */
export async function hasOtherVisitor(
  database: Database,
  { workspaceId, sessionId, botId, visitorId }: SessionRequest,
): Promise<boolean> {
  const { rowCount } = await database.query({
    name: "has_other_visitor",
    text: HAS_OTHER_VISITOR,
    values: [workspaceId, sessionId, botId, visitorId],
  });
  return rowCount === 1;
}
