import { entryIdOf } from "../handoff/messages.ts";
import type { Entry, Source } from "../panel/session-store.ts";
import { anySignal } from "../shared/any-signal.ts";
import { Failure } from "../shared/failure.ts";
import type { HistoryContext } from "./context.ts";

const TIMEOUT_MS = 15_000;

/** A conversation of the verified visitor. */
export interface PastSession {
  readonly id: string;
  /** The beginning of the first message. May be empty. */
  readonly title: string;
  /** ISO 8601. */
  readonly last_activity_at: string;
}

/** A message as the service sends it. */
export interface PastMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  readonly content: string;
  readonly created_at: string;
  /** Only on a reply that has ended. */
  readonly finish_reason?: "stop" | "error" | "blocked" | "quota_exceeded" | "cancelled" | "handoff";
  /** The error's code, with the finish reasons `error` and `quota_exceeded`. */
  readonly code?: string;
  readonly rating?: "" | "up" | "down";
  readonly sources?: readonly Source[];
  /** On a message of a person. */
  readonly agent?: { readonly name: string };
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Where the next page begins; null after the last page. */
  readonly next: string | null;
}

export interface HistoryApi {
  /** Returns conversations, the newest first. */
  listSessions(cursor: string | undefined): Promise<Page<PastSession>>;
  /** Returns messages in their order. The first page has the newest ones, the next page older ones. */
  listMessages(session: string, before: string | undefined): Promise<Page<PastMessage>>;
}

/** All functions reject with a Failure if the service refuses the request, and with another error if it is not reachable or `signal` is aborted. */
export function createHistoryApi({ base, publicKey, readToken }: HistoryContext, signal: AbortSignal): HistoryApi {
  const get = async (path: string, parameters: Readonly<Record<string, string | undefined>>): Promise<unknown> => {
    const query = new URLSearchParams({ public_key: publicKey });
    for (const [name, value] of Object.entries(parameters)) {
      if (value) {
        query.set(name, value);
      }
    }
    const token = await readToken(signal);
    const response = await fetch(`${base}api/chat/sessions/${path}?${query}`, {
      headers: { Authorization: `Bearer ${token ?? ""}` },
      credentials: "omit",
      signal: anySignal(signal, AbortSignal.timeout(TIMEOUT_MS)),
    });
    if (!response.ok) {
      throw await Failure.from(response);
    }
    return response.json();
  };
  const getWithNewToken: typeof get = (...request) =>
    get(...request).catch((error: Partial<Failure>) => {
      // The token may have expired. Asks the page for another one, once.
      if (error.code === "invalid_visitor_token") {
        return get(...request);
      }
      throw error;
    });
  return {
    async listSessions(cursor) {
      const body = (await getWithNewToken("", { cursor })) as {
        sessions: PastSession[];
        next_cursor: string | null;
      };
      return { items: body.sessions, next: body.next_cursor };
    },
    async listMessages(session, before) {
      const body = (await getWithNewToken(`${session}/messages/`, { before })) as {
        messages: PastMessage[];
        next_before: string | null;
      };
      return { items: body.messages, next: body.next_before };
    },
  };
}

/** Whether the message is a reply that has not ended. The service sends it without text, and stores it when it ends. */
export const isRunning = ({ role, finish_reason }: PastMessage): boolean => role === "assistant" && !finish_reason;

/**
 * Returns the messages as the entries of a session. The reply of a message follows it, without text while it is running. If a failed reply has no text,
 * its message shows the failure, as it does when the widget itself receives the failure.
 */
export function toEntries(messages: readonly PastMessage[]): Entry[] {
  const entries: Entry[] = [];
  for (const message of messages) {
    const { id, role, content: text, created_at, rating = "", finish_reason: reason = "stop", sources } = message;
    const at = Date.parse(created_at);
    const question = entries.at(-1);
    const failed =
      reason === "cancelled" ? "stopped" : /^(error|quota_exceeded)$/.test(reason) && (message.code ?? "failed");
    const failure = failed ? { failed } : {};
    if (role === "user") {
      entries.push({ id, role, text, at });
    } else if (message.agent) {
      entries.push({ id: entryIdOf(id), role, text, at, messageId: Number(id), agent: message.agent.name });
    } else if (text || isRunning(message)) {
      // The visitor cannot rate the text that replaces a blocked reply.
      const ratable = reason === "blocked" ? {} : { messageId: Number(id), rating };
      entries.push({
        id: `${question?.role === "user" ? question.id : id}:a`,
        role,
        text,
        at,
        ...ratable,
        ...failure,
        ...(sources && { sources }),
      });
    } else if (question) {
      entries[entries.length - 1] = { ...question, ...failure };
    }
  }
  return entries;
}
