import { randomUUID } from "node:crypto";
import { type ChatResult, readChat } from "../../system/chat.ts";
import type { Tenant } from "../../system/system.ts";
import { type Description, loadDescription } from "./description.ts";

export type Call = {
  method?: string;
  /** Query included. */
  path: string;
  headers?: Record<string, string>;
  /** An object is sent as JSON. */
  body?: object | string | Uint8Array;
  /** The client's address; each call has one of its own unless it is given, so that no rate limit is met by chance. */
  address?: string;
  signal?: AbortSignal;
};

export type Answer = { status: number; headers: Headers; text: string; body: unknown };

type Fields = Record<string, unknown>;

/** The public interface as its callers use it. Every answer is checked against the service's own description. */
export type Api = {
  description: Description;
  /** What was answered so far, as the description names it. */
  seen: ReadonlySet<string>;
  /** Notes an answer that a test read and checked by itself. */
  note(answer: string | undefined): void;
  /** An answer that is not read yet, and not checked. */
  send(call: Call): Promise<Response>;
  call(call: Call): Promise<Answer>;
  /** The stream of a chat, to its end. Throws when it is not a stream. */
  chat(tenant: Tenant, fields?: Fields, headers?: Record<string, string>): Promise<ChatResult>;
  /** A chat that is refused. */
  refusedChat(tenant: Tenant, fields?: Fields, call?: Partial<Call>): Promise<Answer>;
  /** A chat whose stream is not read yet. */
  openChat(tenant: Tenant, fields?: Fields, call?: Partial<Call>): Promise<Response>;
  config(tenant: Tenant, origin?: string | null): Promise<Answer>;
  rate(tenant: Tenant, fields: Fields): Promise<Answer>;
  playground(token: string, fields: Fields): Promise<ChatResult>;
  refusedPlayground(token: string, fields: Fields): Promise<Answer>;
  exported(token: string, sessionId: string): Promise<Answer>;
};

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

export const chatFields = (tenant: Tenant, fields: Fields = {}) => ({
  public_key: tenant.publicKey,
  session_id: randomUUID(),
  message: "Hello?",
  ...fields,
});

/** Speaks to an edge that trusts this machine as its proxy. */
export async function createApi(baseUrl: string): Promise<Api> {
  const description = await loadDescription(baseUrl);
  const seen = new Set<string>();

  function send({ method = "GET", path, headers = {}, body, address = freshAddress(), signal }: Call) {
    const isPlain = body === undefined || typeof body === "string" || body instanceof Uint8Array;
    return fetch(`${baseUrl}${path}`, {
      method,
      headers: { "x-forwarded-for": address, ...(body !== undefined && JSON_TYPE), ...headers },
      ...(body !== undefined && { body: isPlain ? (body as string) : JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  }

  function check(
    { method = "GET", path }: Call,
    { status, headers }: Response,
    body: Pick<ChatResult, "events"> | string,
  ) {
    const [pathname = ""] = path.split("?");
    const content = typeof body === "string" ? { text: body } : { events: body.events };
    const name = description.check({ method, path: pathname, status, headers, ...content });
    if (name !== undefined) seen.add(name);
  }

  async function call(request: Call): Promise<Answer> {
    const response = await send(request);
    const text = await response.text();
    check(request, response, text);
    const isJson = response.headers.get("content-type")?.startsWith("application/json") && text !== "";
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
  }

  async function stream(request: Call): Promise<ChatResult> {
    const response = await send(request);
    const result = await readChat(response);
    check(request, response, result);
    return result;
  }

  const chatCall = (tenant: Tenant, fields?: Fields, call?: Partial<Call>): Call => ({
    method: "POST",
    path: "/api/chat/",
    body: chatFields(tenant, fields),
    ...call,
    headers: { origin: tenant.origin, ...call?.headers },
  });
  const playgroundCall = (token: string, fields: Fields): Call => ({
    method: "POST",
    path: "/api/chat/playground/",
    headers: bearer(token),
    body: { session_id: randomUUID(), message: "Hello?", ...fields },
  });

  return {
    description,
    seen,
    note: (answer) => void (answer !== undefined && seen.add(answer)),
    send,
    call,
    chat: (tenant, fields, headers) => stream(chatCall(tenant, fields, headers && { headers })),
    refusedChat: (tenant, fields, options) => call(chatCall(tenant, fields, options)),
    openChat: (tenant, fields, options) => send(chatCall(tenant, fields, options)),
    config: (tenant, origin = tenant.origin) =>
      call({
        path: `/api/widget/config/?public_key=${tenant.publicKey}`,
        headers: origin === null ? {} : { origin },
      }),
    rate: (tenant, fields) =>
      call({
        method: "POST",
        path: "/api/chat/rating/",
        headers: { origin: tenant.origin },
        body: { public_key: tenant.publicKey, ...fields },
      }),
    playground: (token, fields) => stream(playgroundCall(token, fields)),
    refusedPlayground: (token, fields) => call(playgroundCall(token, fields)),
    exported: (token, sessionId) => call({ path: exportPath(sessionId), headers: bearer(token) }),
  };
}

export const exportPath = (sessionId: string) => `/api/conversations/${sessionId}/export.json`;

const JSON_TYPE = { "content-type": "application/json" };

let addresses = 0;

/** An address that no call of this test file has had. */
export function freshAddress(): string {
  addresses++;
  return `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`;
}
