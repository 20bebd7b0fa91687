import type { Database } from "@parley/service-kit";
import { formatTimeSql, IS_LISTED } from "../sessions/index.ts";
import { handoffSql, type StoredHandoff } from "./handoff-state.store.ts";

const MAX_SESSIONS = 500;
/** In code points. */
const EXCERPT_CHARACTERS = 160;

export type HandedOffSession = {
  id: string;
  botSlug: string;
  visitorId: string;
  handoff: StoredHandoff;
  lastActivityAt: string;
  excerpt: string;
};

const LIST_HANDOFFS = `
  SELECT s.session_id AS id, b.slug AS "botSlug", coalesce(s.visitor_id, '') AS "visitorId", ${handoffSql()} AS handoff,
         ${formatTimeSql("s.last_activity_at")} AS "lastActivityAt",
         coalesce((
           SELECT left(m.content, ${EXCERPT_CHARACTERS}) FROM conversation.messages m
           WHERE m.workspace_id = s.workspace_id AND m.session_id = s.session_id AND m.role = 'user' ORDER BY m.message_id DESC LIMIT 1
         ), '') AS excerpt
  FROM conversation.sessions s
  JOIN conversation.bots b ON b.workspace_id = s.workspace_id AND b.bot_id = s.bot_id
  WHERE s.workspace_id = $1 AND s.handoff_state = $2 AND ${IS_LISTED}
  ORDER BY s.handoff_at
  LIMIT ${MAX_SESSIONS}`;

/** Lists a workspace's sessions in a state, those that have been in it for the longest time first. */
export async function listHandoffs(
  database: Database,
  workspaceId: string,
  state: "requested" | "assigned",
): Promise<HandedOffSession[]> {
  const values = [workspaceId, state];
  return (await database.query<HandedOffSession>({ name: "list_handoffs", text: LIST_HANDOFFS, values })).rows;
}

/** Counts the sessions of all workspaces that wait for a person, and those that have one. */
export async function countHandoffs(database: Database): Promise<{ waiting: number; assigned: number }> {
  const { rows } = await database.query<{ waiting: number; assigned: number }>({
    name: "count_handoffs",
    text: `SELECT count(*) FILTER (WHERE handoff_state = 'requested')::integer AS waiting,
                  count(*) FILTER (WHERE handoff_state = 'assigned')::integer AS assigned
           FROM conversation.sessions s WHERE handoff_state IS NOT NULL AND ${IS_LISTED}`,
  });
  return rows[0] ?? { waiting: 0, assigned: 0 };
}
