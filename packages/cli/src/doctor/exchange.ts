import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import { request as requestHttps } from "node:https";
import type { Readable } from "node:stream";

/** Where and how Parley is spoken to. */
export type Door = { url: URL; http2: boolean };

export type Call = {
  method: "GET" | "POST" | "OPTIONS";
  path: string;
  headers: Readonly<Record<string, string>>;
  body?: string;
  signal: AbortSignal;
};

export type Answer = {
  status: number;
  /** As they came, names in lower case; a header that came twice stands there twice. */
  headers: readonly (readonly [name: string, value: string])[];
  /** As it comes; throws when it is cut off. */
  body: Readable;
  /** This end of the connection; empty when it is not known. */
  localAddress: string;
};

/**
 * Makes one request on a connection of its own, as a browser would. The certificate is judged elsewhere and stops nothing here: nothing
 * secret is sent. Rejects with the system's error when no answer comes.
 */
export function exchange(door: Door, call: Call): Promise<Answer> {
  return door.http2 ? overHttp2(door.url, call) : overHttp1(door.url, call);
}

async function overHttp1(base: URL, { method, path, headers, body, signal }: Call): Promise<Answer> {
  const url = new URL(path, base);
  const options = { method, headers, signal, agent: false as const };
  const request: ClientRequest =
    url.protocol === "https:"
      ? requestHttps(url, { ...options, rejectUnauthorized: false })
      : requestHttp(url, options);
  request.end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  const { statusCode = 0, rawHeaders, socket } = response;
  return { status: statusCode, headers: pairs(rawHeaders), body: response, localAddress: socket.localAddress ?? "" };
}

async function overHttp2(base: URL, { method, path, headers, body, signal }: Call): Promise<Answer> {
  const session = connectHttp2(base.origin, { rejectUnauthorized: false });
  // What goes wrong with the connection goes wrong with its one request.
  session.on("error", () => undefined);
  const stream: ClientHttp2Stream = session.request(
    { ":method": method, ":path": new URL(path, base).pathname + new URL(path, base).search, ...headers },
    { signal },
  );
  stream.once("close", () => session.destroy());
  stream.end(body);
  const [parsed, , raw] = (await once(stream, "response")) as [{ ":status"?: number }, number, string[]];
  const localAddress = session.socket?.localAddress ?? "";
  return { status: parsed[":status"] ?? 0, headers: pairs(raw), body: stream, localAddress };
}

function pairs(raw: readonly string[]): [string, string][] {
  return raw.flatMap((name, index) => (index % 2 === 0 ? [[name.toLowerCase(), raw[index + 1] ?? ""] as const] : []));
}

/** The values of a header, in order. */
export function headersOf({ headers }: Pick<Answer, "headers">, name: string): string[] {
  return headers.flatMap(([each, value]) => (each === name ? [value] : []));
}

/** A header's value; empty when it did not come. */
export function headerOf(answer: Pick<Answer, "headers">, name: string): string {
  return headersOf(answer, name).join(", ");
}
