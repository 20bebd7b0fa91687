import type { Database } from "@parley/service-kit";
import { readContactMessage } from "../handoff/index.ts";
import type { ClaimedDelivery, EventContent } from "./webhook.ts";

/** Which texts an event of a type may contain. */
const TEXTS: Readonly<Record<string, readonly (keyof EventContent)[]>> = {
  "conversation.started": ["message"],
  "message.completed": ["message", "reply"],
  "message.blocked": ["message", "reply"],
  "message.rated": ["message", "reply", "rating_reason"],
  "handoff.message": ["message"],
};

// The message of a started conversation is its first one. A reply's id is one above that of its message.
const READ_CONTENT = `
  SELECT m.content AS message, r.content AS reply, nullif(r.rating_reason, '') AS rating_reason
  FROM conversation.sessions s
  JOIN LATERAL (
    SELECT m.content, m.message_id FROM conversation.messages m
    WHERE m.workspace_id = $1 AND m.session_id = $2 AND m.message_id >= coalesce($3::bigint - 1, 0)
    ORDER BY m.message_id LIMIT 1
  ) m ON true
  LEFT JOIN conversation.messages r ON r.workspace_id = $1 AND r.session_id = $2 AND r.message_id = $3
  WHERE s.workspace_id = $1 AND s.session_id = $2 AND s.deleted_at IS NULL AND s.erased_at IS NULL`;

/** A visitor's message to a person has no reply. Its id is one below that of the reply that another message would have. */
function replyIdOf(type: string, { message_id: messageId }: ClaimedDelivery["data"]): number | null {
  if (typeof messageId !== "number") return null;
  return type === "handoff.message" ? messageId + 1 : messageId;
}

/** Reads the texts of an event, which are stored nowhere else. A text that was erased or deleted is missing. */
export async function readEventContent(
  database: Database,
  { workspaceId, sessionId, type, data }: ClaimedDelivery,
): Promise<EventContent> {
  if (sessionId === null) return {};
  if (type === "handoff.contact")
    return (await readContactMessage(database, { workspaceId, sessionId, contactId: String(data.contact_id) })) ?? {};
  const names = TEXTS[type];
  if (names === undefined) return {};
  const { rows } = await database.query<Record<keyof EventContent, string | null>>({
    name: "read_event_content",
    text: READ_CONTENT,
    values: [workspaceId, sessionId, replyIdOf(type, data)],
  });
  const [row] = rows;
  return Object.fromEntries(names.flatMap((name) => (row?.[name] == null ? [] : [[name, row[name]]])));
}
