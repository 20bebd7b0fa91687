import { type Dispatcher, request as send } from "undici";
import { readText, StreamedResponse } from "./response-body.ts";

/** An error's code is within the first kilobytes of its body. */
const MAX_REFUSAL_BYTES = 16 * 1024;

/**
 * Returns a fetch with a streamed body. It follows no redirect, because a redirect would forward the key, and reads only the beginning of
 * a refusal.
 */
export function createStreamingFetch(dispatcher: Dispatcher): typeof fetch {
  return async (url, { method = "GET", headers, body, signal = null } = {}) => {
    const received = await send(String(url), {
      dispatcher,
      method: method as Dispatcher.HttpMethod,
      headers: Object.fromEntries(new Headers(headers)),
      ...(typeof body === "string" && { body }),
      signal,
    });
    const response = new StreamedResponse(received);
    if (response.ok) return response;
    // The request is refused even if the connection breaks before the reason is read.
    const text = await readText(response.stream, MAX_REFUSAL_BYTES).catch(() => "");
    return new Response(text === "" ? null : text, { status: response.status, headers: response.headers });
  };
}
