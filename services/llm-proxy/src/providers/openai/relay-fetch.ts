import type { OpenAI } from "openai";
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

const GIVE_UP = Symbol("the signal that gives a call up");

/**
 * The SDK's options for a call that is given up, with its response's body, once `signal` is aborted. A signal given to the SDK itself is
 * composed with another, and what hangs on composed signals, the whole call, survives until the next full garbage collection.
 */
export function givenUpBy(signal: AbortSignal): Pick<OpenAI.RequestOptions, "fetchOptions"> {
  const init: Init = { [GIVE_UP]: signal };
  return { fetchOptions: init as NonNullable<OpenAI.RequestOptions["fetchOptions"]> };
}

/** The body of a response that came through relayFetch. */
export function bodyOf(response: Response): IncomingBody {
  if (response instanceof StreamedResponse) return response.incoming;
  throw new TypeError("the response did not come through relayFetch");
}

/** What is read of a refusal's body; the rest is left. */
const MAX_ERROR_BYTES = 16 * 1024;
const KEPT_HEADERS = ["content-type", "retry-after", "retry-after-ms", "x-request-id"];

type Init = RequestInit & { [GIVE_UP]?: AbortSignal };

type Head = { status: number; headers: Headers; incoming: IncomingBody };

/**
 * A fetch for the SDK over undici's dispatcher: redirects are not followed (one would take the key along), a refusal is read up to a
 * bound, and a success is a StreamedResponse.
 */
export function relayFetch(dispatcher: Dispatcher) {
  return async (url: string | URL | Request, init: Init = {}): Promise<Response> => {
    const { status, headers, incoming } = await send(dispatcher, new URL(String(url)), init);
    if (status >= 200 && status < 300) return new StreamedResponse(status, headers, incoming);
    return new Response(await readAtMost(incoming, MAX_ERROR_BYTES), { status, headers });
  };
}

/** Sends a request and resolves with its response's head. Throws what kept it from coming, such as the signal's reason. */
function send(dispatcher: Dispatcher, { origin, pathname, search }: URL, init: Init): Promise<Head> {
  const { promise, resolve, reject } = Promise.withResolvers<Head>();
  const signal = init[GIVE_UP] ?? init.signal;
  let controller: Dispatcher.DispatchController | undefined;
  let incoming: IncomingBody | undefined;
  const leave = () => {
    if (incoming === undefined) controller?.abort(signal?.reason);
    else incoming.destroy(signal?.reason);
    reject(signal?.reason);
  };
  // Until all of the body was taken, which may be never; the signal is this call's alone.
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
      onResponseEnd: () => incoming?.end(),
      onResponseError: (_, error) => {
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
