import { readSse, type SseEvent } from "@parley/test-support";
import type { ChatResult } from "../../system/chat.ts";
import type { System } from "../../system/system.ts";

/** Returns the names of a stream's events. Consecutive `token` events count once, because llm-proxy may coalesce tokens. */
export function eventNames({ events }: ChatResult): string[] {
  const all = events.map(({ event }) => event);
  return all.filter((event, index) => event !== "token" || all[index - 1] !== "token");
}

/** Yields the events of a stream as they arrive, without its comments. */
export async function* eventsOf(response: Response): AsyncGenerator<SseEvent> {
  for await (const item of readSse(response)) if ("event" in item) yield item;
}

/** Returns the messages of the provider request with this index. */
export function promptOf({ provider }: System, index: number): { role: string; content: string }[] {
  const { messages } = (provider.requests[index]?.body ?? {}) as { messages?: { role: string; content: string }[] };
  return messages ?? [];
}
