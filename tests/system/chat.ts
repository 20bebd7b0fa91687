import { randomUUID } from "node:crypto";
import { collectSse, fetchAndKeep } from "@parley/test-support";
import type { SharedSystem } from "./shared-system.ts";
import type { Tenant } from "./system.ts";

export type ChatFields = Record<string, unknown>;

/** Sends a chat request with the origin of the tenant's site. With `init.signal`, the stream stays open until the signal is aborted. */
export function postChat(
  baseUrl: string,
  tenant: Tenant,
  fields: ChatFields = {},
  init: { headers?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<Response> {
  return fetchAndKeep(`${baseUrl}/api/chat/`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: tenant.origin, ...init.headers },
    body: JSON.stringify({ public_key: tenant.publicKey, session_id: randomUUID(), message: "Hello?", ...fields }),
    ...(init.signal && { signal: init.signal }),
  });
}

export type ChatResult = {
  status: number;
  headers: Headers;
  events: { id?: string; event: string; data: Record<string, unknown> }[];
  meta: Record<string, unknown> | undefined;
  done: Record<string, unknown> | undefined;
  error: Record<string, unknown> | undefined;
  /** The concatenated text of all token events. */
  text: string;
};

/** Sends a chat request and reads the whole stream. */
export async function chat(baseUrl: string, tenant: Tenant, fields: ChatFields = {}): Promise<ChatResult> {
  return readChat(await postChat(baseUrl, tenant, fields));
}

export async function readChat(response: Response): Promise<ChatResult> {
  const events = (await collectSse(response)).map(({ id, event, data }) => ({
    ...(id !== undefined && { id }),
    event,
    data: data as Record<string, unknown>,
  }));
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

/** Requests the transcript of a session as a member of the workspace. */
export async function exportTranscript(
  { url, sso }: Pick<SharedSystem, "url" | "sso">,
  { workspaceId }: Pick<Tenant, "workspaceId">,
  sessionId: string,
): Promise<Response> {
  return fetch(`${url()}/api/conversations/${sessionId}/export.json`, {
    headers: { authorization: `Bearer ${await sso.token({ workspaceId })}` },
  });
}
