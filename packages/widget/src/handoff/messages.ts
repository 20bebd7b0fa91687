import type { Entry } from "../panel/session-store.ts";

/** A message of the live stream: the visitor's to a person, or a person's. */
export interface LiveMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly content: string;
  /** ISO 8601. */
  readonly created_at: string;
  readonly agent?: { readonly name: string };
}

/** Returns the id of a message's entry, also when it comes from the past conversations. */
export const entryIdOf = (messageId: string): string => `m${messageId}`;

/** Returns the id of the last message of the live stream among the entries; 0 if there is none. */
export function lastMessageId(entries: readonly Entry[]): number {
  return Math.max(0, ...entries.map(({ role, agent, messageId = 0 }) => (role === "user" || agent ? messageId : 0)));
}

/**
 * Returns the entries with a message of the live stream in its place, which its id decides: it may arrive after a later message, if the connection was lost.
 * If an entry has its id, returns the same entries. The visitor's own message is among the entries already, without the id.
 */
export function addMessage(entries: readonly Entry[], message: LiveMessage): readonly Entry[] {
  const { id, role, content: text, agent } = message;
  const messageId = Number(id);
  if (entries.some((entry) => entry.messageId === messageId)) {
    return entries;
  }
  const own =
    role === "user"
      ? entries.findLast((entry) => entry.text === text && isUnanswered(entry, entries) && !entry.messageId)
      : undefined;
  const added: Entry = {
    ...(own ?? { id: entryIdOf(id), role, text, at: Date.parse(message.created_at) }),
    messageId,
    ...(agent && { agent: agent.name }),
  };
  const others = entries.filter((entry) => entry !== own);
  const later = others.findIndex((entry) => idOf(entry, others) > messageId);
  const at = later < 0 ? others.length : later;
  return [...others.slice(0, at), added, ...others.slice(at)];
}

/** Returns the service's ID of an entry; 0 if it is unknown. A message to the bot has the ID before that of its reply. */
function idOf({ id, messageId }: Entry, entries: readonly Entry[]): number {
  return messageId ?? (entries.find((entry) => entry.id === `${id}:a`)?.messageId ?? 1) - 1;
}

/** Whether the entry is a visitor's message to which the bot has not replied. */
function isUnanswered({ id, role }: Entry, entries: readonly Entry[]): boolean {
  return role === "user" && !entries.some((entry) => entry.id === `${id}:a`);
}

/**
 * Returns the id of the entry that shows that a person has the session or may have it: a marked one, or a last message of the visitor that was sent and
 * has no reply. Returns undefined if there is none.
 */
export function findHandoff(entries: readonly Entry[]): string | undefined {
  const last = entries.at(-1);
  const isHandedOff = last?.role === "user" && !last.key && !last.failed;
  return isHandedOff ? last.id : entries.findLast(({ handoff }) => handoff)?.id;
}
