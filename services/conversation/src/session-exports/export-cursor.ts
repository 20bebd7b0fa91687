import { invalidArgument } from "@parley/service-kit";
import { formatPosition, parsePosition, type SessionPosition } from "../sessions/index.ts";

/** The position after which an export continues. */
export type ExportCursor = {
  /** The export contains the sessions that started before this time, in microseconds since 1970. A continued export keeps this time. */
  untilMicroseconds: number;
  /** The last exported session. If the position has a message id, the session's messages after that message are not exported yet. */
  position: SessionPosition;
};

const CURSOR = /^(\d{1,16})-(.+)$/s;

export function formatCursor({ untilMicroseconds, position }: ExportCursor): string {
  return `${untilMicroseconds}-${formatPosition(position)}`;
}

/** Parses a cursor. Returns undefined for an empty one, and throws invalid_argument for a malformed one. */
export function parseCursor(text: string): ExportCursor | undefined {
  if (text === "") return undefined;
  const [, until = "", token = ""] = CURSOR.exec(text) ?? [];
  const position = parsePosition(token);
  if (position === undefined || !Number.isSafeInteger(Number(until))) throw invalidArgument("the cursor is invalid");
  return { untilMicroseconds: Number(until), position };
}
