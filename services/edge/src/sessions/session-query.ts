import { badRequest, type HttpError } from "../http/index.ts";

/** The parameters of a query. Each may be given at most once; an empty value is treated as absent. */
export type Query<Name extends string> = Readonly<Partial<Record<Name, string>>>;

const MAX_LIMIT = 100;
const DEFAULT_LIMIT = 20;
const MAX_TEXT_CHARACTERS = 200;
/** A date, or a time of RFC 3339. A plus sign that the client did not encode arrives as a space. */
const TIME = /^(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d:\d\d)(?:\.(\d{1,6}))?([Zz]|[+\- ]\d\d:\d\d))?$/;

/** Throws 400 invalid_parameter for a parameter that is not one of `names`, is repeated or contains NUL. */
export function parseQuery<Name extends string>(query: unknown, names: readonly Name[]): Query<Name> {
  const parameters = Object.entries(query as Record<string, unknown>);
  for (const [name, value] of parameters)
    if (!names.includes(name as Name) || typeof value !== "string" || value.includes("\0"))
      throw invalidParameter(name);
  return Object.fromEntries(parameters.filter(([, value]) => value !== "")) as Query<Name>;
}

export function invalidParameter(name: string, options?: ErrorOptions): HttpError {
  return badRequest("invalid_parameter", name, options);
}

const FILTERS = ["bot_slug", "source", "since", "until", "visitor_id", "rating", "review"] as const;
const LIST_PARAMETERS = ["limit", "cursor", "q", ...FILTERS] as const;

/** Parses the query of GET /api/conversations/. Throws 400 invalid_parameter. */
export function parseListQuery(query: unknown) {
  const { limit, cursor = "", q: text = "", ...filters } = parseQuery(query, LIST_PARAMETERS);
  if ([...text].length > MAX_TEXT_CHARACTERS) throw invalidParameter("q");
  return { limit: parseLimit(limit), pageToken: cursor, text, ...parseFilters(filters) };
}

const EXPORT_PARAMETERS = ["cursor", ...FILTERS] as const;

/** Parses the query of an export of many sessions. Throws 400 invalid_parameter. */
export function parseExportQuery(query: unknown) {
  const { cursor = "", ...filters } = parseQuery(query, EXPORT_PARAMETERS);
  return { cursor, ...parseFilters(filters) };
}

/**
 * Parses the query of an export as CSV, which has one more parameter than other exports. `hasMark` is whether the file begins with a byte order
 * mark, without which Excel does not read a file as UTF-8. The rest of a broken export has none, because it is appended to the file.
 */
export function parseCsvExportQuery(query: unknown) {
  const { bom = "0", ...rest } = parseQuery(query, ["bom", ...EXPORT_PARAMETERS]);
  if (bom !== "0" && bom !== "1") throw invalidParameter("bom");
  const parsed = parseExportQuery(rest);
  return { ...parsed, hasMark: bom === "1" && parsed.cursor === "" };
}

function parseFilters({ source = "", rating = "", review = "", ...rest }: Query<(typeof FILTERS)[number]>) {
  if (!["", "widget", "playground"].includes(source)) throw invalidParameter("source");
  if (!["", "up", "down"].includes(rating)) throw invalidParameter("rating");
  if (!["", "good", "bad"].includes(review)) throw invalidParameter("review");
  const { bot_slug: botSlug = "", visitor_id: visitorId = "", ...times } = rest;
  return { botSlug, visitorId, source, rating, review, ...parseTimes(times) };
}

function parseLimit(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  const limit = /^\d{1,3}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > MAX_LIMIT) throw invalidParameter("limit");
  return limit;
}

function parseTimes({ since, until }: { since?: string; until?: string }) {
  return {
    ...(since !== undefined && { sinceMicroseconds: parseTime("since", since) }),
    ...(until !== undefined && { untilMicroseconds: parseTime("until", until) }),
  };
}

/** Returns microseconds since 1970; 0 for a time before 1970. A date means its start in UTC. */
export function parseTime(name: string, text: string): bigint {
  const [, date = "", time = "00:00:00", fraction = "", offset = "Z"] = TIME.exec(text) ?? [];
  const milliseconds = Date.parse(`${date}T${time}${offset.replace(" ", "+").toUpperCase()}`);
  // Date.parse turns the 30th of February into a day in March.
  const isDate = !Number.isNaN(milliseconds) && new Date(`${date}T00:00:00Z`).toISOString().startsWith(date);
  if (!isDate) throw invalidParameter(name);
  const microseconds = BigInt(milliseconds) * 1_000n + BigInt(fraction.padEnd(6, "0"));
  return microseconds < 0n ? 0n : microseconds;
}
