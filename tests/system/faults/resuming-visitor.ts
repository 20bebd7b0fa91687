import { setTimeout as sleep } from "node:timers/promises";
import { readSse, type SseEvent } from "@parley/test-support";
import { postChat } from "../chat.ts";
import type { Tenant } from "../system.ts";
import { newClientAddress } from "../visitors.ts";

/** A reply that a visitor has read to its end. */
export type ReceivedReply = {
  messageId: string;
  text: string;
  /** The events other than `meta` and `token`, each as a line with its name and its data. */
  otherEvents: string;
  finishReason: string;
};

/**
 * How reading a reply ended:
 * - the received reply;
 * - `gone`: the session does not exist, for example after its erasure;
 * - `hung`: the reply did not end within the timeout. The value is the reason why the last request had to be repeated;
 * - `inconsistent`: an event repeated or skipped text, or belongs to another message.
 */
export type ReplyEnd = ReceivedReply | { gone: string } | { hung: string } | { inconsistent: string };

/** A message with its idempotency key. */
export type KeyedMessage = { tenant: Tenant; sessionId: string; key: string; message: string };

export type ResumingOptions = {
  /** Returns the URL of the edge for the next request. */
  nextUrl: () => string;
  /** Returns the number of events after which the visitor cuts its connection, or infinity. */
  nextEventLimit: () => number;
  /** Returns how long the visitor waits before the next request. */
  nextDelayMs: () => number;
  timeoutMs: number;
  /** Called when a request continues a reply. Gets the time from the request to the first event. */
  onAttached?: (ms: number) => void;
};

type Progress = { text: string; lastEventId: string | undefined };

/**
 * Sends a message with its idempotency key and reads the reply. Repeats the request until the reply ends, as the documentation tells clients
 * to do.
 */
export async function readUntilEnd(message: KeyedMessage, options: ResumingOptions): Promise<ReplyEnd> {
  const deadline = performance.now() + options.timeoutMs;
  const progress: Progress = { text: "", lastEventId: undefined };
  let lastReason = "no request";
  while (performance.now() < deadline) {
    const result = await readOnce(message, options, progress, deadline).catch(
      (error: unknown) => `failed: ${String(error)}`,
    );
    if (typeof result !== "string") return result;
    lastReason = result;
    await sleep(options.nextDelayMs());
  }
  return { hung: lastReason };
}

/** Sends a message once with its key, from a new client address. */
export function sendKeyed(
  url: string,
  { tenant, sessionId, key, message }: KeyedMessage,
  { lastEventId, signal }: { lastEventId?: string | undefined; signal?: AbortSignal } = {},
): Promise<Response> {
  const headers: Record<string, string> = { "idempotency-key": key, "x-forwarded-for": newClientAddress() };
  if (lastEventId !== undefined) headers["last-event-id"] = lastEventId;
  return postChat(url, tenant, { session_id: sessionId, message }, { headers, ...(signal && { signal }) });
}

/**
 * Sends one request and reads its events, at most until the deadline. Returns a ReplyEnd, or the reason why the request must be repeated.
 */
async function readOnce(
  message: KeyedMessage,
  { nextUrl, nextEventLimit, onAttached }: ResumingOptions,
  progress: Progress,
  deadline: number,
): Promise<ReplyEnd | string> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), deadline - performance.now());
  try {
    const { lastEventId } = progress;
    const startedAt = performance.now();
    const response = await sendKeyed(nextUrl(), message, { lastEventId, signal: controller.signal });
    if (response.status !== 200) {
      const { error } = (await response.json()) as { error: string };
      if (error === "session_not_found") return { gone: error };
      const mustStartOver = error === "invalid_last_event_id" || error === "turn_not_found";
      if (mustStartOver) Object.assign(progress, { text: "", lastEventId: undefined });
      return error;
    }
    let eventsUntilCut = nextEventLimit();
    let otherEvents = "";
    for await (const item of readSse(response)) {
      if (!("event" in item)) continue;
      if (item.event === "meta" && lastEventId !== undefined) onAttached?.(item.receivedAtMs - startedAt);
      const problem = applyEvent(item, progress);
      if (problem !== undefined) return { inconsistent: problem };
      const { id = "", event, data } = item;
      if (event !== "meta" && event !== "token") otherEvents += `${event} ${JSON.stringify(data)}\n`;
      if (event === "done") {
        const finishReason = (data as { finish_reason: string }).finish_reason;
        return { messageId: id.split("-")[0] ?? "", text: progress.text, otherEvents, finishReason };
      }
      if (--eventsUntilCut <= 0) return "cut by the visitor";
    }
    return "ended without done";
  } finally {
    clearTimeout(timer);
    controller.abort();
  }
}

/**
 * Adds an event to the received text. Returns a description of the problem if the event's id is not `<message id>-<length of the received text>`,
 * because then a client that appends text would have a wrong text.
 */
function applyEvent({ id = "", event, data }: SseEvent, progress: Progress): string | undefined {
  const before = progress.lastEventId;
  if (event === "token") progress.text += (data as { text: string }).text;
  progress.lastEventId = id;
  const [messageId, offset] = id.split("-");
  const isSameMessage = before === undefined || before.split("-")[0] === messageId;
  if (isSameMessage && Number(offset) === progress.text.length) return undefined;
  return `${event} ${id} after ${before}, with ${progress.text.length} characters received`;
}
