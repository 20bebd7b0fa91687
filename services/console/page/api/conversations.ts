import { sendInBatch } from "./batch.ts";
import { errorOf } from "./response-error.ts";

/** A conversation in the owner API's list. */
export type Conversation = {
  id: string;
  bot_slug: string;
  source: "widget" | "playground";
  visitor_id: string;
  referrer: string;
  started_at: string;
  last_activity_at: string;
  message_count: number;
  rating: "" | "up" | "down";
  review: "" | "good" | "bad";
  /** The beginning of the first message, or the surroundings of the text that was searched for. */
  excerpt: string;
};

export type ConversationPage = { conversations: Conversation[]; next_cursor: string | null };

/** The filters of the list. `from` and `to` are days in the owner's time zone, both included. */
export type ConversationFilters = {
  q?: string;
  bot?: string;
  rating?: string;
  review?: string;
  source?: string;
  visitor?: string;
  from?: string;
  to?: string;
};

const PAGE_SIZE = 20;

/** Reads a page of conversations, newest activity first. Throws ConnectError if the response is an error. */
export async function listConversations(filters: ConversationFilters, cursor: string): Promise<ConversationPage> {
  const { q } = filters;
  const query = new URLSearchParams({
    limit: String(PAGE_SIZE),
    cursor,
    ...toParameters(filters),
    ...(q !== undefined && { q }),
  });
  const { status, body } = await sendInBatch({ conversations: query.toString() });
  if (status === 200) return body as ConversationPage;
  throw errorOf(status, JSON.stringify(body));
}

/** The export ignores `q`. It applies `from` and `to` to a conversation's start; the list applies them to the last activity. */
export function exportUrl(filters: ConversationFilters, format: "csv" | "ndjson"): string {
  // Without a byte order mark, Excel does not read the file as UTF-8.
  const parameters = { ...toParameters(filters), ...(format === "csv" && { bom: "1" }) };
  return `/api/conversations/export.${format}?${new URLSearchParams(parameters)}`;
}

function toParameters({ bot, rating, review, source, visitor, from, to }: ConversationFilters): Record<string, string> {
  return {
    ...(bot !== undefined && { bot_slug: bot }),
    ...(rating !== undefined && { rating }),
    ...(review !== undefined && { review }),
    ...(source !== undefined && { source }),
    ...(visitor !== undefined && { visitor_id: visitor }),
    ...(isDay(from) && { since: startOfDay(from, 0) }),
    ...(isDay(to) && { until: startOfDay(to, 1) }),
  };
}

function isDay(day: string | undefined): day is string {
  return day !== undefined && !Number.isNaN(Date.parse(`${day}T00:00`));
}

/** Returns the start of the day that is `days` after `day`, in the owner's time zone. */
function startOfDay(day: string, days: number): string {
  const start = new Date(`${day}T00:00`);
  start.setDate(start.getDate() + days);
  return start.toISOString();
}
