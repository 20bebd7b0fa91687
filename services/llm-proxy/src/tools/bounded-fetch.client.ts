import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type Dispatcher, fetch } from "undici";
import { failureOf } from "./failures.ts";

/**
 * A fetch for a client that brings none of these itself: through connections that reach permitted addresses only, no redirect
 * followed (one would take the secret along), and no body read beyond a size.
 */
export function boundedFetch(dispatcher: Dispatcher, maxBytes: number): FetchLike {
  return async (url, init = {}) => {
    const { method = "GET", headers, body, signal } = init;
    const response = await fetch(url, {
      dispatcher,
      method,
      redirect: "manual",
      headers: Object.fromEntries(new Headers(headers)),
      ...(typeof body === "string" && { body }),
      ...(signal && { signal }),
    });
    const { status, statusText } = response;
    const read = response.body === null ? null : ReadableStream.from(bounded(response.body, maxBytes));
    return new Response(read, { status, statusText, headers: Object.fromEntries(response.headers) });
  };
}

async function* bounded(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  // Leaving the loop early ends the connection.
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) throw failureOf("too_large", "");
    yield chunk;
  }
}
