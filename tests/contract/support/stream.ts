import { readSse, type SseEvent } from "@parley/test-support";
import type { ChatResult } from "../../system/chat.ts";
import type { System } from "../../system/system.ts";

/** The names of a stream's events. How a reply is cut into tokens is the model's affair, so those that follow one another count as one. */
export function eventNames({ events }: ChatResult): string[] {
  const all = events.map(({ event }) => event);
  return all.filter((event, index) => event !== "token" || all[index - 1] !== "token");
}

/** Events as they come, with the time each was read. */
export async function* eventsOf(response: Response): AsyncGenerator<SseEvent> {
  for await (const item of readSse(response)) if ("event" in item) yield item;
}

/** What the model was sent in a call to the provider, counted from 0. */
export function promptOf({ provider }: System, index: number): { role: string; content: string }[] {
  const { messages } = (provider.requests[index]?.body ?? {}) as { messages?: { role: string; content: string }[] };
  return messages ?? [];
}
