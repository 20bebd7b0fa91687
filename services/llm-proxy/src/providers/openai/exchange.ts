import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import { IncomingBody } from "./incoming-body.ts";

/** Where a request goes, and with what headers: names and values in turn. */
export type Target = { origin: string; path: string; headers: string[] };

/** A response, of which the body is still to come. */
export type Answer = { status: number; headers: IncomingHttpHeaders; body: IncomingBody };

/**
 * Posts a body and resolves with the head of what it is answered with; redirects are not followed, since one would take the key along.
 * Once `signal` is aborted, which is this request's alone, it is given up, with the answer's body. Throws what kept the answer from
 * coming, such as the signal's reason.
 */
export function exchange(
  dispatcher: Dispatcher,
  { origin, path, headers }: Target,
  body: string,
  signal?: AbortSignal,
): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  let controller: Dispatcher.DispatchController | undefined;
  let incoming: IncomingBody | undefined;
  const leave = () => {
    if (incoming === undefined) controller?.abort(signal?.reason);
    else incoming.destroy(signal?.reason);
    reject(signal?.reason);
  };
  // Until all of the body was taken, which may be never.
  if (signal?.aborted) leave();
  else signal?.addEventListener("abort", leave, { once: true });
  dispatcher.dispatch(
    { origin, path, method: "POST", headers, body },
    {
      onRequestStart: (begun) => {
        controller = begun;
        if (signal?.aborted) leave();
      },
      onResponseStart: (begun, status, received) => {
        // One of information; the response is still to come.
        if (status < 200) return;
        incoming = new IncomingBody(begun);
        resolve({ status, headers: received, body: incoming });
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
