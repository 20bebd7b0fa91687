import type { FastifyReply } from "fastify";
import { HttpError } from "./http-error.ts";

/** Returns a signal that aborts when the response is complete, or when the browser closes the connection earlier. */
export function responseCloseSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController();
  const abort = () => gone.abort(new HttpError(499, "client_gone"));
  // No event follows if the connection is closed already.
  if (raw.destroyed) abort();
  else raw.once("close", abort);
  return gone.signal;
}
