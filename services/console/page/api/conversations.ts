import type { ListSessionsResponse } from "@parley/rpc/conversation";
import { sessions } from "./clients.ts";

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

/** Reads a page of conversations, newest activity first. Throws ConnectError if the response is an error. */
export function listConversations(
  workspaceId: string,
  { q = "", bot = "", rating = "", review = "", source = "", visitor = "", from, to }: ConversationFilters,
  pageToken = "",
): Promise<ListSessionsResponse> {
  return sessions.listSessions({
    ...{ workspaceId, pageToken, text: q, botSlug: bot, rating, review, source, visitorId: visitor },
    ...(isDay(from) && { sinceMicroseconds: toMicroseconds(startOfDay(from, 0)) }),
    ...(isDay(to) && { untilMicroseconds: toMicroseconds(startOfDay(to, 1)) }),
  });
}

/** The export ignores `q`. It applies `from` and `to` to a conversation's start; the list applies them to the last activity. */
export function exportUrl(filters: ConversationFilters, format: "csv" | "ndjson"): string {
  const { bot, rating, review, source, visitor, from, to } = filters;
  const parameters = {
    ...(bot !== undefined && { bot_slug: bot }),
    ...(rating !== undefined && { rating }),
    ...(review !== undefined && { review }),
    ...(source !== undefined && { source }),
    ...(visitor !== undefined && { visitor_id: visitor }),
    ...(isDay(from) && { since: startOfDay(from, 0).toISOString() }),
    ...(isDay(to) && { until: startOfDay(to, 1).toISOString() }),
    // Without a byte order mark, Excel does not read the file as UTF-8.
    ...(format === "csv" && { bom: "1" }),
  };
  return `/api/conversations/export.${format}?${new URLSearchParams(parameters)}`;
}

function isDay(day: string | undefined): day is string {
  return day !== undefined && !Number.isNaN(Date.parse(`${day}T00:00`));
}

/** Returns the start of the day that is `days` after `day`, in the owner's time zone. */
function startOfDay(day: string, days: number): Date {
  const start = new Date(`${day}T00:00`);
  start.setDate(start.getDate() + days);
  return start;
}

function toMicroseconds(time: Date): bigint {
  return BigInt(time.getTime()) * 1_000n;
}
