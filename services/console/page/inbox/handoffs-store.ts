import { useSyncExternalStore } from "react";
import { renewSession } from "../api/session-fetch.ts";

/** A conversation that waits for a person, has one, or has a message for the team: an item of the edge's list (docs/api.md). */
export type HandedOff = {
  id: string;
  bot_slug: string;
  visitor_id: string;
  last_activity_at: string;
  /** The beginning of the visitor's last message. */
  excerpt: string;
  /** How many private notes it has. */
  notes: number;
  /** When the state last changed; if the bot answers, when `contact` was left. */
  since: string;
  handoff: { state: "bot" | "requested" | "assigned"; reason: string; agent?: { id: string; name: string } };
  /** The last message that the visitor has left for the team; undefined if there is none that the team is not done with. */
  contact?: { email: string; excerpt: string; created_at: string };
};

/** A person who answers visitors. `is_here`: the person's inbox is open. */
export type Colleague = { id: string; name: string; is_here: boolean };

export type Handoffs = {
  /** Those that wait first, in each group the longest time first; undefined until the first list arrives. */
  conversations: readonly HandedOff[] | undefined;
  /** Those whose inbox is open or was lately, by name; with the member, and empty until the first list arrives. */
  agents: readonly Colleague[];
  /** Whether nothing new can arrive for some seconds now. */
  isOffline: boolean;
};

const HANDOFFS_PATH = "/api/handoffs/live/";
/** A stream ends every 10 minutes. Chromium connects again after 3 s, Firefox after 5 s. */
const OFFLINE_AFTER_MS = 10_000;
const REOPEN_MS = 3_000;

const EMPTY: Handoffs = { conversations: undefined, agents: [], isOffline: false };

let state = EMPTY;
let source: EventSource | undefined;
let reopenTimer: ReturnType<typeof setTimeout> | undefined;
let offlineTimer: ReturnType<typeof setTimeout> | undefined;
let followers = 0;
const listeners = new Set<() => void>();

function setState(changes: Partial<Handoffs>): void {
  state = { ...state, ...changes };
  for (const listener of listeners) listener();
}

function awaitList(): void {
  offlineTimer ??= setTimeout(() => setState({ isOffline: true }), OFFLINE_AFTER_MS);
}

function open(): void {
  awaitList();
  source = new EventSource(HANDOFFS_PATH);
  source.addEventListener("handoffs", ({ data }: MessageEvent<string>) => {
    clearTimeout(offlineTimer);
    offlineTimer = undefined;
    const { conversations, agents } = JSON.parse(data) as { conversations: HandedOff[]; agents: Colleague[] };
    setState({ conversations, agents, isOffline: false });
  });
  source.addEventListener("error", () => {
    awaitList();
    // A refused request: the browser does not repeat it.
    if (source?.readyState === EventSource.CLOSED) reopenTimer = setTimeout(reopen, REOPEN_MS);
  });
}

/** The session may have ended: renews it, and asks the user to sign in again if necessary. */
async function reopen(): Promise<void> {
  await renewSession().catch(() => undefined);
  if (followers > 0 && source?.readyState === EventSource.CLOSED) open();
}

function close(): void {
  source?.close();
  source = undefined;
  clearTimeout(reopenTimer);
  clearTimeout(offlineTimer);
  offlineTimer = undefined;
}

/** Keeps the list current until the returned function is called. All callers share one stream. */
export function followHandoffs(): () => void {
  if (followers++ === 0) open();
  return () => {
    if (--followers > 0) return;
    close();
    setState(EMPTY);
  };
}

export const readHandoffs = (): Handoffs => state;

export function subscribeToHandoffs(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

function subscribeAndFollow(listener: () => void): () => void {
  const [unsubscribe, unfollow] = [subscribeToHandoffs(listener), followHandoffs()];
  return () => {
    unsubscribe();
    unfollow();
  };
}

/** Returns the list, and keeps it current. */
export function useHandoffs(): Handoffs {
  return useSyncExternalStore(subscribeAndFollow, readHandoffs);
}

/** Returns the number of conversations that wait for a person; 0 while nothing keeps the list current. */
export function useWaitingCount(): number {
  return useSyncExternalStore(subscribeToHandoffs, () => waitingOf(state.conversations).length);
}

export const waitingOf = (conversations: readonly HandedOff[] = []): readonly HandedOff[] =>
  conversations.filter(({ handoff }) => handoff.state === "requested");

/** Those whose visitors wait for an e-mail. */
export const withContact = (conversations: readonly HandedOff[] = []): readonly HandedOff[] =>
  conversations.filter(({ contact }) => contact !== undefined);

/** Those that the agent has. */
export const ownOf = (conversations: readonly HandedOff[] = [], agentId: string): readonly HandedOff[] =>
  conversations.filter(({ handoff }) => handoff.state === "assigned" && handoff.agent?.id === agentId);
