import { invalidArgument } from "@parley/service-kit";
import { formatPosition, parsePosition, type SessionPosition } from "../sessions/index.ts";

/** How far an export has come. */
export type ExportCursor = {
  /** The end of the export, in microseconds since 1970. Every part of a continued export has the same end. */
  untilMicroseconds: number;
  /** The last exported session, by its start. With a message id, only its messages up to that one were exported. */
  position: SessionPosition;
};

const UNTIL = /^(\d{1,16})-(.+)$/s;

export function formatCursor({ untilMicroseconds, position }: ExportCursor): string {
  return `${untilMicroseconds}-${formatPosition(position)}`;
}

/** Parses a cursor. Returns undefined for an empty one, and throws invalid_argument for one that formatCursor did not return. */
export function parseCursor(text: string): ExportCursor | undefined {
  if (text === "") return undefined;
  const [, until = "", token = ""] = UNTIL.exec(text) ?? [];
  const position = parsePosition(token);
  if (position === undefined || !Number.isSafeInteger(Number(until))) throw invalidArgument("the cursor is invalid");
  return { untilMicroseconds: Number(until), position };
}
