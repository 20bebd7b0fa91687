import { type HandedOff, ownOf, waitingOf, withContact } from "./handoffs-store.ts";

/** The visitor waits, has left a message for the team, or has written to the agent; or a colleague has handed the conversation to the agent. */
export type NewsKind = "waiting" | "left" | "handed" | "written";

export type News = { kind: NewsKind; conversation: HandedOff };

/** Returns what an agent must be told about the conversations. */
export function findNews(
  before: readonly HandedOff[] | undefined,
  now: readonly HandedOff[] | undefined,
  agentId: string,
): readonly News[] {
  // The first list has nothing new: it was so before the page was opened.
  if (before === undefined || now === undefined) return [];
  const waitingBefore = new Set(waitingOf(before).map(({ id }) => id));
  const contactBefore = new Map(withContact(before).map(({ id, contact }) => [id, contact?.created_at]));
  const ownBefore = new Map(ownOf(before, agentId).map(({ id, excerpt }) => [id, excerpt]));
  const own = ownOf(now, agentId);
  const toNews = (kind: NewsKind, conversations: readonly HandedOff[]) =>
    conversations.map((conversation) => ({ kind, conversation }));
  return [
    ...toNews(
      "waiting",
      waitingOf(now).filter(({ id }) => !waitingBefore.has(id)),
    ),
    ...toNews(
      "left",
      withContact(now).filter(({ id, contact }) => contactBefore.get(id) !== contact?.created_at),
    ),
    ...toNews(
      "handed",
      own.filter(({ id, handoff }) => !ownBefore.has(id) && handoff.reason === "assigned"),
    ),
    ...toNews(
      "written",
      own.filter(({ id, excerpt }) => (ownBefore.get(id) ?? excerpt) !== excerpt),
    ),
  ];
}
