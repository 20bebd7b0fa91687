import { ListSessionsRequestSchema } from "@parley/rpc/conversation";
import { limitsOf } from "@parley/rpc/rules";
import Type, { type Static } from "typebox";
import { parseTime } from "../http/index.ts";

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 20;
const { max: MAX_TEXT_CHARACTERS } = limitsOf(ListSessionsRequestSchema.field.text);

const text = (description: string, options: { format?: string; maxLength?: number } = {}) =>
  Type.Optional(Type.String({ description, ...options }));
const oneOf = <Value extends string>(values: Value[], description: string) =>
  Type.Optional(Type.Enum(values, { description }));

const FILTERS = {
  bot_slug: text("Only conversations of this bot."),
  visitor_id: text("Only conversations that have or had this visitor id."),
  source: oneOf(["widget", "playground"], "Only conversations of this source."),
  rating: oneOf(["up", "down"], "Only conversations with this rating."),
  review: oneOf(["good", "bad"], "Only conversations with this review."),
};

const FORMAT = { format: "date-or-date-time" };
const FORMAT_TEXT = "a date, which means its start in UTC, or a time of RFC 3339";

/** A query without parameters. */
export const NoQuery = Type.Object({}, { additionalProperties: false });

/** The query of GET /api/conversations/. The order of the parameters is the order of the checks. */
export const ListQuery = Type.Object(
  {
    q: text(
      "Only conversations with a message that contains this text, ignoring case. A request reads at most 2,000 messages.",
      { maxLength: MAX_TEXT_CHARACTERS },
    ),
    limit: Type.Optional(
      Type.Integer({ description: "Conversations in a page.", minimum: 1, maximum: MAX_LIMIT, default: DEFAULT_LIMIT }),
    ),
    cursor: text("The `next_cursor` of the page before."),
    ...FILTERS,
    since: text(`Only conversations whose last activity was at this time or later: ${FORMAT_TEXT}.`, FORMAT),
    until: text("Only conversations whose last activity was before this time.", FORMAT),
  },
  { additionalProperties: false },
);

/** The query of an export of many sessions. */
export const ExportQuery = Type.Object(
  {
    cursor: text(
      "The `cursor` of the last complete line of a broken export. The new export continues after that line.",
    ),
    ...FILTERS,
    since: text(`Only conversations that were started at this time or later: ${FORMAT_TEXT}.`, FORMAT),
    until: text(
      "Only conversations that were started before this time. An export always leaves out the conversations of the 60 s before its start.",
      FORMAT,
    ),
  },
  { additionalProperties: false },
);

/** The query of an export as CSV, which has one more parameter. Without a byte order mark, Excel does not read a file as UTF-8. */
export const CsvExportQuery = Type.Object(
  {
    bom: oneOf(
      ["0", "1"],
      "With `1`, the file begins with a byte order mark, so that Excel reads it as UTF-8. The rest of a broken export has none.",
    ),
    ...ExportQuery.properties,
  },
  { additionalProperties: false },
);

/** Returns the fields of ListSessions. */
export function toList({ limit = DEFAULT_LIMIT, cursor = "", q = "", ...filters }: Static<typeof ListQuery>) {
  return { limit, pageToken: cursor, text: q, ...toFilters(filters) };
}

/** Returns the fields of ExportSessions. `hasMark` is whether the file begins with a byte order mark; the rest of a broken export has none. */
export function toExport({ bom = "0", cursor = "", ...filters }: Static<typeof CsvExportQuery>) {
  return { hasMark: bom === "1" && cursor === "", cursor, ...toFilters(filters) };
}

function toFilters(filters: Omit<Static<typeof ExportQuery>, "cursor">) {
  const { bot_slug: botSlug = "", visitor_id: visitorId = "", source = "", rating = "", review = "" } = filters;
  const since = parseTime(filters.since ?? "");
  const until = parseTime(filters.until ?? "");
  return {
    ...{ botSlug, visitorId, source, rating, review },
    ...(since !== undefined && { sinceMicroseconds: since }),
    ...(until !== undefined && { untilMicroseconds: until }),
  };
}
