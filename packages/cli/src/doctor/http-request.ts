import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import { request as requestHttps } from "node:https";
import type { Readable } from "node:stream";

/** Parley's public URL, and whether to request it over HTTP/2. */
export type Endpoint = { url: URL; http2: boolean };

export type EndpointRequest = {
  method: "GET" | "POST" | "OPTIONS";
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  /** Whether the request must not be sent to a server without a valid certificate. */
  isSecret?: boolean;
  signal: AbortSignal;
};

export type EndpointResponse = {
  status: number;
  /** In order of arrival, with lower-case names. A repeated header has several entries. */
  headers: readonly (readonly [name: string, value: string])[];
  /** If the connection is cut, emits an error over HTTP/1; over HTTP/2, may end without one. */
  body: Readable;
  /** The local address of the connection; empty when unknown. */
  localAddress: string;
};

/**
 * Sends one request on a new connection. Verifies the certificate only for a secret request: certificate.ts reports an invalid one.
 * If there is no response, rejects with the system error, an AbortError, or an error that reports the end of the connection.
 */
export function sendRequest(endpoint: Endpoint, request: EndpointRequest): Promise<EndpointResponse> {
  return endpoint.http2 ? sendOverHttp2(endpoint.url, request) : sendOverHttp1(endpoint.url, request);
}

async function sendOverHttp1(
  base: URL,
  { method, path, headers, body, isSecret = false, signal }: EndpointRequest,
): Promise<EndpointResponse> {
  const url = new URL(path, base);
  const options = { method, headers, signal, agent: false as const };
  const request: ClientRequest =
    url.protocol === "https:"
      ? requestHttps(url, { ...options, rejectUnauthorized: isSecret })
      : requestHttp(url, options);
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const { statusCode = 0, rawHeaders, socket } = response;
  return {
    status: statusCode,
    headers: toHeaderPairs(rawHeaders),
    body: response,
    localAddress: socket.localAddress ?? "",
  };
}

async function sendOverHttp2(
  base: URL,
  { method, path, headers, body, isSecret = false, signal }: EndpointRequest,
): Promise<EndpointResponse> {
  const session = connectHttp2(base.origin, { rejectUnauthorized: isSecret });
  // Connection errors also reach the stream, which reports them.
  session.on("error", () => undefined);
  const stream: ClientHttp2Stream = session.request(
    { ":method": method, ":path": new URL(path, base).pathname + new URL(path, base).search, ...headers },
    { signal },
  );
  stream.once("close", () => session.destroy());
  stream.end(body);
  // If the server ends the connection, the stream closes without an error.
  const closed = once(stream, "close").then(() => Promise.reject(new Error("the connection ended without a response")));
  const response = await Promise.race([once(stream, "response"), closed]);
  const [parsed, , raw] = response as [{ ":status"?: number }, number, string[]];
  const localAddress = session.socket?.localAddress ?? "";
  return { status: parsed[":status"] ?? 0, headers: toHeaderPairs(raw), body: stream, localAddress };
}

function toHeaderPairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name.toLowerCase(), raw[index + 1] ?? ""] as const] : []));
}

export function readHeaderValues({ headers }: Pick<EndpointResponse, "headers">, name: string): string[] {
  return headers.flatMap(([each, value]) => (each === name ? [value] : []));
}

/** Returns a header's values joined by commas; empty without the header. */
export function readHeader(response: Pick<EndpointResponse, "headers">, name: string): string {
  return readHeaderValues(response, name).join(", ");
}
