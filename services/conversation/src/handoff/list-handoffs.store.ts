import type { Database } from "@parley/service-kit";
import { type ContactMessage, formatTimeSql, IS_LISTED } from "../sessions/index.ts";
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
  /** If the team is not done with the contact messages: the last one, with the beginning of its text. */
  contact: ContactMessage | null;
  /** How many private notes it has. */
  notes: number;
};

/** In the order of the list. In `contact`, the bot answers, and the team is not done with the visitor's contact messages. */
export const HANDED_OFF_STATES = ["requested", "assigned", "contact"] as const;

// The conditions have no parameters, so that PostgreSQL can use the partial indexes.
const WHERE = {
  requested: "s.handoff_state = 'requested'",
  assigned: "s.handoff_state = 'assigned'",
  contact: "s.contact_at IS NOT NULL AND s.handoff_state IS NULL",
} as const;

const CONTACT_EXCERPT = `
  (s.contact_messages -> -1) || jsonb_build_object('message', left(s.contact_messages -> -1 ->> 'message', ${EXCERPT_CHARACTERS}))`;

const listSql = (state: keyof typeof WHERE) => `
  SELECT s.session_id AS id, b.slug AS "botSlug", coalesce(s.visitor_id, '') AS "visitorId", ${handoffSql()} AS handoff,
         ${formatTimeSql("s.last_activity_at")} AS "lastActivityAt",
         coalesce((
           SELECT left(m.content, ${EXCERPT_CHARACTERS}) FROM conversation.messages m
           WHERE m.workspace_id = s.workspace_id AND m.session_id = s.session_id AND m.role = 'user' ORDER BY m.message_id DESC LIMIT 1
         ), '') AS excerpt,
         CASE WHEN s.contact_at IS NOT NULL THEN ${CONTACT_EXCERPT} END AS contact,
         (
           SELECT count(*)::integer FROM conversation.session_notes n WHERE n.workspace_id = s.workspace_id AND n.session_id = s.session_id
         ) AS notes
  FROM conversation.sessions s
  JOIN conversation.bots b ON b.workspace_id = s.workspace_id AND b.bot_id = s.bot_id
  WHERE s.workspace_id = $1 AND ${WHERE[state]} AND ${IS_LISTED}
  ORDER BY ${state === "contact" ? "s.contact_at" : "s.handoff_at"}
  LIMIT ${MAX_SESSIONS}`;

/** Lists a workspace's sessions in a state, those that have been in it for the longest time first. */
export async function listHandoffs(
  database: Database,
  workspaceId: string,
  state: keyof typeof WHERE,
): Promise<HandedOffSession[]> {
  const statement = { name: `list_handoffs_${state}`, text: listSql(state), values: [workspaceId] };
  return (await database.query<HandedOffSession>(statement)).rows;
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
