import { randomUUID } from "node:crypto";
import { fetchAndKeep } from "@parley/test-support";
import { type ChatResult, readChat } from "../../system/chat.ts";
import type { Tenant } from "../../system/system.ts";
import { newClientAddress } from "../../system/visitors.ts";
import { type Description, loadDescription } from "./description.ts";

export type ApiRequest = {
  method?: string;
  /** Includes the query. */
  path: string;
  headers?: Record<string, string>;
  /** An object is sent as JSON. */
  body?: object | string | Uint8Array;
  /** The client's IP address. Default: a new one for each request, so that requests share no rate limit. */
  address?: string;
  signal?: AbortSignal;
};

export type ApiResponse = { status: number; headers: Headers; text: string; body: unknown };

type Fields = Record<string, unknown>;

/** A client of the public API. If a method reads the response, it validates the response against the service's OpenAPI description. */
export type Api = {
  description: Description;
  /** The responses received so far, named as in `Description.responses`. */
  receivedResponses: ReadonlySet<string>;
  /** Adds the name of a response that a test read and validated without this client. Ignores undefined. */
  recordResponse(name: string | undefined): void;
  /** Does not read or validate the response. */
  send(request: ApiRequest): Promise<Response>;
  call(request: ApiRequest): Promise<ApiResponse>;
  /** Reads the stream to its end. Throws if the response is not a stream. */
  chat(tenant: Tenant, fields?: Fields, headers?: Record<string, string>): Promise<ChatResult>;
  /** For a chat request that the service refuses. The caller checks the status. */
  refusedChat(tenant: Tenant, fields?: Fields, options?: Partial<ApiRequest>): Promise<ApiResponse>;
  /** Does not read or validate the stream. */
  openChat(tenant: Tenant, fields?: Fields, options?: Partial<ApiRequest>): Promise<Response>;
  getConfig(tenant: Tenant, origin?: string | null): Promise<ApiResponse>;
  rateMessage(tenant: Tenant, fields: Fields): Promise<ApiResponse>;
  /** Lists a visitor's sessions or, with `session`, reads one. `query` begins with `&`. */
  getHistory(
    tenant: Tenant,
    visitorToken: string | undefined,
    options?: { session?: string; query?: string } & Partial<ApiRequest>,
  ): Promise<ApiResponse>;
  playground(token: string, fields: Fields): Promise<ChatResult>;
  refusedPlayground(token: string, fields: Fields): Promise<ApiResponse>;
  exportTranscript(token: string, sessionId: string): Promise<ApiResponse>;
};

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

export const chatFields = (tenant: Tenant, fields: Fields = {}) => ({
  public_key: tenant.publicKey,
  session_id: randomUUID(),
  message: "Hello?",
  ...fields,
});

/** The edge must trust this machine as a proxy, because each request has an X-Forwarded-For header. */
export async function createApi(baseUrl: string): Promise<Api> {
  const description = await loadDescription(baseUrl);
  const receivedResponses = new Set<string>();

  function send({ method = "GET", path, headers = {}, body, address = newClientAddress(), signal }: ApiRequest) {
    const isPlain = body === undefined || typeof body === "string" || body instanceof Uint8Array;
    return fetchAndKeep(`${baseUrl}${path}`, {
      method,
      headers: { "x-forwarded-for": address, ...(body !== undefined && JSON_TYPE), ...headers },
      ...(body !== undefined && { body: isPlain ? (body as string) : JSON.stringify(body) }),
      ...(signal && { signal }),
    });
  }

  function check(
    { method = "GET", path }: ApiRequest,
    { status, headers }: Response,
    body: Pick<ChatResult, "events"> | string,
  ) {
    const [pathname = ""] = path.split("?");
    const content = typeof body === "string" ? { text: body } : { events: body.events };
    const name = description.check({ method, path: pathname, status, headers, ...content });
    if (name !== undefined) receivedResponses.add(name);
  }

  async function call(request: ApiRequest): Promise<ApiResponse> {
    const response = await send(request);
    const text = await response.text();
    check(request, response, text);
    const isJson = response.headers.get("content-type")?.startsWith("application/json") && text !== "";
    return { status: response.status, headers: response.headers, text, body: isJson ? JSON.parse(text) : undefined };
  }

  async function stream(request: ApiRequest): Promise<ChatResult> {
    const response = await send(request);
    const result = await readChat(response);
    check(request, response, result);
    return result;
  }

  const chatRequest = (tenant: Tenant, fields?: Fields, options?: Partial<ApiRequest>): ApiRequest => ({
    method: "POST",
    path: "/api/chat/",
    body: chatFields(tenant, fields),
    ...options,
    headers: { origin: tenant.origin, ...options?.headers },
  });
  const playgroundRequest = (token: string, fields: Fields): ApiRequest => ({
    method: "POST",
    path: "/api/chat/playground/",
    headers: bearer(token),
    body: { session_id: randomUUID(), message: "Hello?", ...fields },
  });

  return {
    description,
    receivedResponses,
    recordResponse: (name) => void (name !== undefined && receivedResponses.add(name)),
    send,
    call,
    chat: (tenant, fields, headers) => stream(chatRequest(tenant, fields, headers && { headers })),
    refusedChat: (tenant, fields, options) => call(chatRequest(tenant, fields, options)),
    openChat: (tenant, fields, options) => send(chatRequest(tenant, fields, options)),
    getConfig: (tenant, origin = tenant.origin) =>
      call({
        path: `/api/widget/config/?public_key=${tenant.publicKey}`,
        headers: origin === null ? {} : { origin },
      }),
    rateMessage: (tenant, fields) =>
      call({
        method: "POST",
        path: "/api/chat/rating/",
        headers: { origin: tenant.origin },
        body: { public_key: tenant.publicKey, ...fields },
      }),
    getHistory: (tenant, visitorToken, { session, query = "", ...options } = {}) =>
      call({
        path: `/api/chat/sessions/${session === undefined ? "" : `${session}/messages/`}?public_key=${tenant.publicKey}${query}`,
        ...options,
        headers: {
          origin: tenant.origin,
          ...(visitorToken !== undefined && bearer(visitorToken)),
          ...options.headers,
        },
      }),
    playground: (token, fields) => stream(playgroundRequest(token, fields)),
    refusedPlayground: (token, fields) => call(playgroundRequest(token, fields)),
    exportTranscript: (token, sessionId) => call({ path: exportPath(sessionId), headers: bearer(token) }),
  };
}

export const exportPath = (sessionId: string) => `/api/conversations/${sessionId}/export.json`;

const JSON_TYPE = { "content-type": "application/json" };
