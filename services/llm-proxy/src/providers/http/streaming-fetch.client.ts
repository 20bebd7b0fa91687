import type { Dispatcher } from "undici";
import { ResponseBody, readText, StreamedResponse } from "./response-body.ts";

/** Limit for the body of an error response. The error's code is within the first kilobytes. */
export const MAX_ERROR_BODY_BYTES: number = 16 * 1024;

/**
 * Returns a fetch that streams the body of a successful response and reads only the beginning of an error response. The fetch follows no
 * redirect, because the redirected request would contain the provider's API key.
 */
export function createStreamingFetch(dispatcher: Dispatcher): typeof fetch {
  return async (url, { method = "GET", headers, body, signal } = {}) => {
    const { origin, pathname, search } = new URL(String(url));
    const response = await send(dispatcher, signal ?? undefined, {
      origin,
      path: pathname + search,
      method: method as Dispatcher.HttpMethod,
      headers: Object.fromEntries(new Headers(headers)),
      ...(typeof body === "string" && { body }),
    });
    if (response.ok) return response;
    // The status alone is enough if the connection breaks before the error's body is read.
    const text = await readText(response.stream, MAX_ERROR_BODY_BYTES).catch(() => "");
    return new Response(text === "" ? null : unquote(text), { status: response.status, headers: response.headers });
  };
}

/** Returns the text in a JSON string, because the SDK loses an error whose body is one. */
function unquote(text: string): string {
  const [, content] = /^"(.*)"\s*$/s.exec(text) ?? [];
  return content ?? text;
}

/** Sends a request, and returns its response when the headers have arrived. If the signal is aborted, rejects with its reason. */
function send(
  dispatcher: Dispatcher,
  signal: AbortSignal | undefined,
  options: Dispatcher.DispatchOptions,
): Promise<StreamedResponse> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    let controller: Dispatcher.DispatchController | undefined;
    let stream: ResponseBody | undefined;
    const abort = () => {
      controller?.abort(signal?.reason);
      stream?.abort(signal?.reason);
      // Before undici has a connection, there is no controller to abort. Reject at once, without waiting for the connection.
      reject(signal?.reason);
    };
    signal?.addEventListener("abort", abort, { once: true });
    dispatcher.dispatch(options, {
      onRequestStart(requestController) {
        controller = requestController;
        if (signal?.aborted) abort();
      },
      onResponseStart(requestController, status, headers) {
        // An informational response precedes the final one.
        if (status < 200) return;
        stream = new ResponseBody(requestController);
        resolve(new StreamedResponse(status, headers, stream));
      },
      onResponseData: (_, chunk) => stream?.push(chunk),
      onResponseEnd: () => stream?.end(),
      onResponseError(_, error) {
        stream?.end(error);
        reject(error);
      },
    });
  });
}
