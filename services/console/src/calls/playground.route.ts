import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { HttpError, responseCloseSignal } from "../http/index.ts";
import type { Authenticate } from "../sign-in/index.ts";

export type PlaygroundDeps = { authenticate: Authenticate; edgeUrl: string };

/** The edge's limit for a request with a message. Requests to stop a reply have a lower limit, which the edge enforces. */
const MAX_BODY_BYTES = 300 * 1024;
/** With these headers, the edge resumes the reply after a lost connection instead of generating it again. */
const REQUEST_HEADERS = ["idempotency-key", "last-event-id"];
/** Without `X-Accel-Buffering`, an nginx in front of the console would buffer the stream. */
const RESPONSE_HEADERS = ["content-type", "cache-control", "retry-after", "parley-error-field", "x-accel-buffering"];

/**
 * Adds POST /api/chat/playground/ and POST /api/chat/playground/stop/, which forward a message or a stop to the edge's playground and stream
 * the response.
 */
export function playgroundRoutes(app: FastifyInstance, { authenticate, edgeUrl }: PlaygroundDeps): void {
  for (const path of ["/api/chat/playground/", "/api/chat/playground/stop/"])
    app.post(
      path,
      {
        bodyLimit: MAX_BODY_BYTES,
        config: { acceptsBearerToken: true },
        onRequest: async (request) => {
          request.forwardedAuthorization = (await authenticate(request)).authorization;
        },
      },
      (request, reply) => forward(new URL(path, edgeUrl), request, reply),
    );
}

async function forward(url: URL, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const headers = new Headers({
    "content-type": "application/json",
    authorization: request.forwardedAuthorization,
  });
  for (const name of REQUEST_HEADERS) {
    const value = request.headers[name];
    if (value !== undefined) headers.set(name, String(value));
  }
  const signal = responseCloseSignal(reply);
  let response: Response;
  try {
    response = await fetch(url, {
      method: "POST",
      headers,
      body: new Uint8Array(request.body as Buffer),
      signal,
      redirect: "error",
    });
  } catch (cause) {
    signal.throwIfAborted();
    throw new HttpError(503, "unavailable", { "retry-after": "1" }, { cause });
  }
  for (const name of RESPONSE_HEADERS) {
    const value = response.headers.get(name);
    if (value !== null) reply.header(name, value);
  }
  reply.code(response.status);
  return reply.send(response.body === null ? "" : Readable.fromWeb(response.body as ReadableStream));
}
