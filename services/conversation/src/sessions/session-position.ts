import { invalidArgument, isUuid } from "@parley/service-kit";

/** The end of 9999-12-31, the latest time that the API's formats can express, in microseconds since 1970. */
const MAX_MICROSECONDS = 253_402_300_799_999_999n;
const TOKEN = /^(\d{1,16})\.([0-9a-f-]{36})(?:\.(\d{1,16}))?$/;

/** A position in a list of sessions that is ordered by time. */
export type SessionPosition = {
  /** The time by which the list is ordered, in microseconds since 1970. */
  microseconds: number;
  sessionId: string;
  /** Only in an export: the session's last exported message. Undefined if all its messages are exported. */
  messageId?: number | undefined;
};

export function formatPosition({ microseconds, sessionId, messageId }: SessionPosition): string {
  return `${microseconds}.${sessionId}${messageId === undefined ? "" : `.${messageId}`}`;
}

/** Parses a token of formatPosition. Returns undefined for an empty token, and throws invalid_argument for a malformed one. */
export function parsePosition(token: string): SessionPosition | undefined {
  if (token === "") return undefined;
  const [, time = "", sessionId = "", message] = TOKEN.exec(token) ?? [];
  const [microseconds, messageId] = [Number(time), message === undefined ? undefined : Number(message)];
  if (!isUuid(sessionId) || !Number.isSafeInteger(microseconds) || !Number.isSafeInteger(messageId ?? 0))
    throw invalidArgument("the position is invalid");
  return { microseconds, sessionId, messageId };
}

/** Returns microseconds since 1970 as a time that PostgreSQL parses exactly. Throws invalid_argument outside of the years 1970 to 9999. */
export function toTimestamp(microseconds: bigint): string {
  if (microseconds < 0n || microseconds > MAX_MICROSECONDS) throw invalidArgument("the time is out of range");
  const seconds = new Date(Number(microseconds / 1_000_000n) * 1_000).toISOString().slice(0, 19);
  return `${seconds}.${String(microseconds % 1_000_000n).padStart(6, "0")}Z`;
}
