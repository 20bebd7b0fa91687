import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type Dispatcher, fetch } from "undici";
import { createToolFailure } from "./failures.ts";

/**
 * Returns a fetch that connects through `dispatcher`. It follows no redirect, because the redirected request could send the tool's secret to
 * another server. Reading a response's body fails with ToolFailure `too_large` after `maxBytes`.
 */
export function createBoundedFetch(dispatcher: Dispatcher, maxBytes: number): FetchLike {
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
    const limited = response.body === null ? null : ReadableStream.from(limitSize(response.body, maxBytes));
    return new Response(limited, { status, statusText, headers: Object.fromEntries(response.headers) });
  };
}

async function* limitSize(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  // An error in the loop closes the connection.
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) throw createToolFailure("too_large");
    yield chunk;
  }
}
