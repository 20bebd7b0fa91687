import { invalidArgument, isEmail } from "@parley/service-kit";

/** The most recipients of a workspace. */
export const MAX_RECIPIENTS = 10;
/** The most messages of a workspace in an hour about what visitors do, and the most other ones. A summary counts the further events. */
export const MAX_EMAILS_PER_HOUR = 20;
/** What visitors do. They can cause any number of these events, which must not hold the other messages. */
export const VISITORS_TYPES = ["handoff.requested", "handoff.contact"] as const;
/** The attempts of a message: in about 15 hours. */
export const MAX_ATTEMPTS = 9;
/** A message that was not sent by then is too old. */
export const EXPIRES_AFTER_HOURS = 24;
export const KEPT_DAYS = 30;
const MAX_ERROR_CHARACTERS = 500;

export type RecipientRef = { workspaceId: string; recipientId: string };

export type EventData = Readonly<Record<string, unknown>>;

/** A message that is about to be sent. */
export type ClaimedEmail = RecipientRef & {
  eventId: string;
  type: string;
  occurredAt: Date;
  data: EventData;
  /** The attempts with this one. */
  attempts: number;
  createdAt: Date;
  /** The recipient; NULL if it was removed. */
  address: string | null;
  language: string | null;
};

/** What became of an attempt to send a message. */
export type SendResult = { status: "sent" } | { status: "retry" | "failed"; error: string };

/** Returns the address with its domain in lower case. Throws invalid_argument if it is not one plain address. */
export function requireAddress(text: string): string {
  const trimmed = text.trim();
  if (!isEmail(trimmed)) throw invalidArgument("address must be an e-mail address, such as ada@example.com");
  const [local = "", domain = ""] = trimmed.split("@");
  return `${local}@${domain.toLowerCase()}`;
}

/** Shortens a mail server's response for the database, which cannot store NUL. */
export function toStoredError(text: string): string {
  return text.slice(0, MAX_ERROR_CHARACTERS).toWellFormed().replaceAll("\0", "\uFFFD");
}
