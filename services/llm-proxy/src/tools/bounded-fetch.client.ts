import type { FetchLike } from "@modelcontextprotocol/sdk/shared/transport.js";
import { type Dispatcher, fetch } from "undici";
import { createToolFailure } from "./failures.ts";
import { ToolFailure } from "./tool-call.ts";

/** The class Response refuses a larger status. */
const MAX_STATUS = 599;

export type BoundedFetchOptions = {
  dispatcher: Dispatcher;
  maxBytes: number;
  /** Called when a response is too large. The transport only ends the response's stream, so a call would wait for its timeout. */
  onTooLarge: (failure: ToolFailure) => void;
};

/**
 * Returns a fetch that connects through `dispatcher`. It follows no redirect, because the redirected request could send the tool's secret to
 * another server. Reading a response's body fails with ToolFailure `too_large` after `maxBytes`. It answers each GET itself: the transport uses
 * GET only for a stream of messages that belong to no call, which would keep a connection for each session.
 */
export function createBoundedFetch({ dispatcher, maxBytes, onTooLarge }: BoundedFetchOptions): FetchLike {
  return async (url, init = {}) => {
    const { method = "GET", headers, body, signal } = init;
    if (method === "GET") return new Response(null, { status: 405 });
    const response = await fetch(url, {
      dispatcher,
      method,
      redirect: "manual",
      headers: Object.fromEntries(new Headers(headers)),
      ...(typeof body === "string" && { body }),
      ...(signal && { signal }),
    });
    const { status } = response;
    if (status > MAX_STATUS) {
      // Otherwise the connection would stay open.
      await response.body?.cancel();
      throw new ToolFailure("failed", `the tool's server responded with HTTP ${status}`, `http_${status}`);
    }
    const limited =
      response.body === null ? null : ReadableStream.from(limitSize(response.body, { maxBytes, onTooLarge }));
    return new Response(limited, { status, headers: Object.fromEntries(response.headers) });
  };
}

async function* limitSize(
  body: AsyncIterable<Uint8Array>,
  { maxBytes, onTooLarge }: Pick<BoundedFetchOptions, "maxBytes" | "onTooLarge">,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  // An error in the loop closes the connection.
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes) {
      const failure = createToolFailure("too_large");
      onTooLarge(failure);
      throw failure;
    }
    yield chunk;
  }
}
