import { invalidArgument } from "@parley/service-kit";
import { requireRating, requireReview } from "./ratings.ts";

/** The filters of a list or an export of sessions. An empty filter matches every session. */
export type SessionFilters = { botSlug: string; source: string; visitorId: string; rating: string; review: string };

const SOURCES = ["", "widget", "playground"];

/** Throws invalid_argument for a filter with a value that no session can have. */
export function requireSessionFilters({ source, rating, review, botSlug, visitorId }: SessionFilters): void {
  if (!SOURCES.includes(source)) throw invalidArgument("source must be widget, playground or empty");
  requireRating(rating);
  requireReview(review);
  for (const [name, value] of Object.entries({ bot_slug: botSlug, visitor_id: visitorId }))
    if (value.includes("\0")) throw invalidArgument(`${name} must not contain NUL`);
}
