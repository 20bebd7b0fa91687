import { type HandedOff, ownOf, waitingOf, withContact } from "./handoffs-store.ts";

/** Returns the conversations about which an agent must be told: those that wait and did not before, those with a new message for the team, and own ones with a new message of the visitor. */
export function findNews(
  before: readonly HandedOff[] | undefined,
  now: readonly HandedOff[] | undefined,
  agentId: string,
): readonly HandedOff[] {
  // The first list has nothing new: it was so before the page was opened.
  if (before === undefined || now === undefined) return [];
  const waitingBefore = new Set(waitingOf(before).map(({ id }) => id));
  const contactBefore = new Map(withContact(before).map(({ id, contact }) => [id, contact?.created_at]));
  const ownBefore = new Map(ownOf(before, agentId).map(({ id, excerpt }) => [id, excerpt]));
  return [
    ...waitingOf(now).filter(({ id }) => !waitingBefore.has(id)),
    ...withContact(now).filter(({ id, contact }) => contactBefore.get(id) !== contact?.created_at),
    ...ownOf(now, agentId).filter(({ id, excerpt }) => (ownBefore.get(id) ?? excerpt) !== excerpt),
  ];
}
