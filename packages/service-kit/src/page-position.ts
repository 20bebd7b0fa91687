import { invalidArgument } from "./errors.ts";
import { isUuid, isWorkspaceId } from "./ids.ts";

const TIME = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,6})?Z$/;

/** A position in a list of turns that is ordered by time. `at` is RFC 3339 in UTC. */
export type PagePosition = { at: string; workspaceId: string; turnId: string };

/** Returns the position as a page token. */
export function formatPosition({ at, workspaceId, turnId }: PagePosition): string {
  return `${at} ${workspaceId} ${turnId}`;
}

/** Parses a page token. Returns undefined for an empty text, and throws invalid_argument for any other text that is not a position. */
export function parsePosition(token: string): PagePosition | undefined {
  if (token === "") return undefined;
  const [at = "", workspaceId = "", turnId = "", ...rest] = token.split(" ");
  if (!isUtcTime(at) || !isWorkspaceId(workspaceId) || !isUuid(turnId) || rest.length > 0)
    throw invalidArgument("the page token is invalid");
  return { at, workspaceId, turnId };
}

/** Returns whether a text is a time in UTC, RFC 3339, of the year 1 or later. */
export function isUtcTime(text: string): boolean {
  if (!TIME.test(text) || text.startsWith("0000")) return false;
  // Date turns 31 February into a day of March.
  return new Date(text).toISOString().slice(0, 10) === text.slice(0, 10);
}
