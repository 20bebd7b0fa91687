import type { Dispatcher } from "undici";
import { IncomingBody } from "./incoming-body.ts";

/** A successful response whose body is left to be read as it comes. */
export class StreamedResponse extends Response {
  readonly incoming: IncomingBody;

  constructor(status: number, headers: Headers, incoming: IncomingBody) {
    super(null, { status, headers });
    this.incoming = incoming;
  }
}

/**
 * The body of a response that came through relayFetch, given up once `signal` is aborted: the SDK's own signal does not outlive the
 * head for sure.
 */
export function bodyOf(response: Response, signal: AbortSignal): IncomingBody {
  if (!(response instanceof StreamedResponse)) throw new TypeError("the response did not come through relayFetch");
  response.incoming.destroyOn(signal);
  return response.incoming;
}

/** What is read of a refusal's body; the rest is left. */
const MAX_ERROR_BYTES = 16 * 1024;
const KEPT_HEADERS = ["content-type", "retry-after", "retry-after-ms", "x-request-id"];

type Head = { status: number; headers: Headers; incoming: IncomingBody };

/**
 * A fetch for the SDK over undici's dispatcher: redirects are not followed (one would take the key along), a refusal is read up to a
 * bound, and a success is a StreamedResponse.
 */
export function relayFetch(dispatcher: Dispatcher) {
  return async (url: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    const { status, headers, incoming } = await send(dispatcher, new URL(String(url)), init);
    if (status >= 200 && status < 300) return new StreamedResponse(status, headers, incoming);
    return new Response(await readAtMost(incoming, MAX_ERROR_BYTES), { status, headers });
  };
}

/** Sends a request and resolves with its response's head. Throws what kept it from coming, such as the signal's reason. */
function send(dispatcher: Dispatcher, { origin, pathname, search }: URL, init: RequestInit): Promise<Head> {
  const { promise, resolve, reject } = Promise.withResolvers<Head>();
  const { signal } = init;
  let controller: Dispatcher.DispatchController | undefined;
  let incoming: IncomingBody | undefined;
  const leave = () => {
    if (incoming === undefined) controller?.abort(signal?.reason);
    else incoming.destroy(signal?.reason);
    reject(signal?.reason);
  };
  // Also while a refusal's body is read, which may never end.
  const over = () => signal?.removeEventListener("abort", leave);
  if (signal?.aborted) leave();
  else signal?.addEventListener("abort", leave, { once: true });
  dispatcher.dispatch(
    {
      origin,
      path: pathname + search,
      method: "POST",
      headers: init.headers instanceof Headers ? init.headers : new Headers(init.headers),
      body: String(init.body),
    },
    {
      onRequestStart: (begun) => {
        controller = begun;
        if (signal?.aborted) leave();
      },
      onResponseStart: (begun, status, received) => {
        // One of information; the response is still to come.
        if (status < 200) return;
        const headers = new Headers();
        for (const name of KEPT_HEADERS) {
          const value = received[name];
          if (typeof value === "string") headers.set(name, value);
        }
        incoming = new IncomingBody(begun);
        resolve({ status, headers, incoming });
      },
      onResponseData: (_, bytes) => incoming?.push(bytes),
      onResponseEnd: () => {
        over();
        incoming?.end();
      },
      onResponseError: (_, error) => {
        over();
        incoming?.end(error);
        reject(error);
      },
    },
  );
  return promise;
}

/** Reads a body as text, of a longer one the first `maxBytes`. */
export async function readAtMost(body: IncomingBody, maxBytes: number): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  for (let piece = await body.next(); piece !== undefined; piece = await body.next()) {
    pieces.push(piece);
    size += piece.length;
    if (size < maxBytes) continue;
    body.destroy();
    break;
  }
  return Buffer.concat(pieces).subarray(0, maxBytes).toString();
}
