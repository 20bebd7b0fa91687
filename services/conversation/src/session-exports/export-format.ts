import { formatRow } from "./csv.ts";

export type ExportFormatter = {
  /** The start of an export. An export that continues after a cursor omits it. */
  header: string;
  /** `sessionJson` is the session as a JSON object. */
  startSession(sessionJson: string): SessionFormatter;
};

export type SessionFormatter = {
  start: string;
  /** `elements` is the text between the brackets of a JSON array of messages. `cursor(messageId)` returns the cursor after that message. */
  messages(elements: string, cursor: (messageId: number) => string): string;
  /** `cursor` is the cursor after the session. */
  end(cursor: string): string;
};

/** Formats each session as a line of JSON. The cursor comes last, so a line with a cursor is complete. */
export const ndjson: ExportFormatter = {
  header: "",
  startSession(sessionJson) {
    let separator = "";
    return {
      start: `{"session":${sessionJson},"messages":[`,
      messages(elements) {
        const text = elements === "" ? "" : separator + elements;
        if (text !== "") separator = ",";
        return text;
      },
      end: (cursor) => `],"cursor":${JSON.stringify(cursor)}}\n`,
    };
  },
};

const SESSION_COLUMNS = [
  "bot_slug",
  "source",
  "visitor_id",
  "visitor_metadata",
  "referrer",
  "user_agent",
  "started_at",
  "last_activity_at",
] as const;
const MESSAGE_COLUMNS = [
  "role",
  "content",
  "rating",
  "rating_reason",
  "review",
  "model",
  "tokens_in",
  "tokens_out",
  "latency_ms",
  "status",
  "error_message",
  "rag_chunks_used",
  "rag_chunks_cited",
  "sources",
  "tools_called",
  "created_at",
] as const;

/** Formats each message as a row. The cursor is the last cell, so a row that ends with a cursor and a line break is complete. */
export const csv: ExportFormatter = {
  header: formatRow(["session_id", ...SESSION_COLUMNS, "message_id", ...MESSAGE_COLUMNS, "cursor"]),
  startSession(json) {
    const session = JSON.parse(json) as Record<string, unknown>;
    const sessionCells = [String(session.id), ...SESSION_COLUMNS.map((column) => toCell(session[column]))];
    return {
      start: "",
      messages: (elements, cursor) =>
        (JSON.parse(`[${elements}]`) as Record<string, unknown>[])
          .map((message) => {
            const cells = MESSAGE_COLUMNS.map((column) => toCell(message[column]));
            return formatRow([...sessionCells, String(message.id), ...cells, cursor(Number(message.id))]);
          })
          .join(""),
      end: () => "",
    };
  },
};

function toCell(value: unknown): string | number {
  if (typeof value === "string" || typeof value === "number") return value;
  return value === null || value === undefined ? "" : JSON.stringify(value);
}
