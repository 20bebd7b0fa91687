import type { Readable } from "node:stream";
import { type Dispatcher, request } from "undici";

/** A successful response whose body is left to be read as it comes: a Node stream joins what one socket read brought. */
export class StreamedResponse extends Response {
  readonly stream: Dispatcher.ResponseData["body"];

  constructor(status: number, headers: Headers, stream: Dispatcher.ResponseData["body"]) {
    super(null, { status, headers });
    this.stream = stream;
  }
}

/** What is read of a refusal's body; the rest is left. */
const MAX_ERROR_BYTES = 16 * 1024;
const KEPT_HEADERS = ["content-type", "retry-after", "retry-after-ms", "x-request-id"];

/**
 * A fetch for the SDK over undici's plain request: redirects are not followed (one would take the key along), a refusal is read up
 * to a bound, and a success is a StreamedResponse.
 */
export function relayFetch(dispatcher: Dispatcher) {
  return async (url: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const response = await request(String(url), {
      dispatcher,
      method: "POST",
      headers: Object.fromEntries(new Headers(init.headers)),
      body: String(init.body),
      signal: init.signal ?? null,
    });
    const headers = new Headers();
    for (const name of KEPT_HEADERS) {
      const value = response.headers[name];
      if (typeof value === "string") headers.set(name, value);
    }
    const { statusCode: status, body } = response;
    if (status >= 200 && status < 300) return new StreamedResponse(status, headers, body);
    return new Response(await readAtMost(body, MAX_ERROR_BYTES), { status, headers });
  };
}

/** Reads a body as text, of a longer one the first `maxBytes`. */
export async function readAtMost(body: Readable, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  // Leaving the loop early closes the connection.
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.length;
    if (size >= maxBytes) break;
  }
  return Buffer.concat(chunks).subarray(0, maxBytes).toString();
}
