import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import plugin from "fastify-plugin";
import { badRequest, HttpError } from "../http-error.ts";
import { routeOf } from "../request.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The key of the error body: `detail` on routes that need an access token, `error` (the default) on all others. */
    errorKey?: "error" | "detail";
  }
}

/** An error response, or a stream that ended without a reply. */
export type Refusal = {
  code: string;
  /** The HTTP status; 200 if the stream was open. */
  status: number;
  /** See HttpError.reason. */
  reason: string;
  /** The route's pattern. */
  route: string;
  /** The cause of a failure, for the log. */
  error?: unknown;
};

/** Called for every refusal. `request` is undefined if Node refused the request before Fastify had it. */
export type OnRefusal = (refusal: Refusal, request?: FastifyRequest) => void;

/** Counts a malformed request. If its client has sent too many, returns the 429 to send instead of the original error. */
export type CountMalformed = (request: FastifyRequest, reply: FastifyReply) => Promise<HttpError | undefined>;

export type ErrorsOptions = { onRefusal: OnRefusal; countMalformed: CountMalformed };

/**
 * Turns every error that a route throws into a response: a status and `{"<key>": "<code>"}` with the error's fields, without internal details.
 * Counts requests that fail validation (400) or are too large (413) as malformed.
 */
export const errors = plugin<ErrorsOptions>(
  async (app, { onRefusal, countMalformed }) => {
    app.setErrorHandler<FastifyError | Error>(async (error, request, reply) => {
      const mapped = error instanceof HttpError ? error : toHttpError(error);
      // If the client leaves, the edge cancels the request's calls to other services, and these calls fail as `unavailable`.
      const isCancelled = mapped.code === "unavailable" && reply.raw.destroyed;
      const failure = isCancelled ? new HttpError(499, "client_gone", {}, { cause: error }) : mapped;
      const isMalformed = failure.status === 400 || failure.status === 413;
      const refusal = (isMalformed && (await countMalformed(request, reply))) || failure;
      const { code, status, reason } = refusal;
      onRefusal({ code, status, reason, route: routeOf(request), error }, request);
      const key = request.routeOptions.config.errorKey ?? "error";
      // Keep the connection open. If Fastify closed it, a client that is still sending would see a reset instead of the response.
      // The unread-body plugin discards the rest of the body until the request timeout.
      if (failure.status === 413) reply.removeHeader("connection");
      return reply
        .code(refusal.status)
        .headers(refusal.headers)
        .header("cache-control", "no-store")
        .send({ [key]: refusal.code, ...refusal.fields });
    });
    // A hook, because a not-found handler would run only after the body is read.
    app.addHook("onRequest", (request, _, done) => {
      done(request.is404 ? new HttpError(404, "not_found") : undefined);
    });
  },
  { name: "errors" },
);

/** Translates Fastify's own errors into documented codes, and every other error into 500 internal_error. */
function toHttpError(error: Error & { statusCode?: number }): HttpError {
  switch (error.statusCode) {
    case 413:
      return new HttpError(413, "payload_too_large", {}, { cause: error });
    case 408:
      return new HttpError(408, "request_timeout", { connection: "close" }, { cause: error });
    case 400:
      return badRequest("invalid_json", undefined, { cause: error });
    default:
      return new HttpError(500, "internal_error", {}, { cause: error });
  }
}
