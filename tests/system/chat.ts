import { randomUUID } from "node:crypto";
import { collectSse, type SseEvent } from "@parley/test-support";
import type { Tenant } from "./system.ts";

export type ChatFields = Record<string, unknown>;

/** Sends a chat request as a browser on the tenant's site would. */
export function postChat(
  baseUrl: string,
  tenant: Tenant,
  fields: ChatFields = {},
  init: { headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Response> {
  return fetch(`${baseUrl}/api/chat/`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: tenant.origin, ...init.headers },
    body: JSON.stringify({ public_key: tenant.publicKey, session_id: randomUUID(), message: "Hello?", ...fields }),
    ...(init.signal && { signal: init.signal }),
  });
}

export type ChatResult = {
  status: number;
  headers: Headers;
  /** Every event in order, its data parsed. */
  events: { event: string; data: Record<string, unknown> }[];
  meta: Record<string, unknown> | undefined;
  done: Record<string, unknown> | undefined;
  error: Record<string, unknown> | undefined;
  /** The tokens joined. */
  text: string;
};

/** Sends a chat request and reads its stream to the end. */
export async function chat(baseUrl: string, tenant: Tenant, fields: ChatFields = {}): Promise<ChatResult> {
  return readChat(await postChat(baseUrl, tenant, fields));
}

/** Reads a chat's stream to its end. */
export async function readChat(response: Response): Promise<ChatResult> {
  const items = await collectSse(response);
  const events = items
    .filter((item): item is SseEvent => "event" in item)
    .map(({ event, data }) => ({ event, data: data as Record<string, unknown> }));
  const dataOf = (name: string) => events.find(({ event }) => event === name)?.data;
  return {
    status: response.status,
    headers: response.headers,
    events,
    meta: dataOf("meta"),
    done: dataOf("done"),
    error: dataOf("error"),
    text: events
      .filter(({ event }) => event === "token")
      .map(({ data }) => data.text)
      .join(""),
  };
}
