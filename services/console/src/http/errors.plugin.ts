import type { FastifyError } from "fastify";
import plugin from "fastify-plugin";
import { HttpError } from "./http-error.ts";

/** Turns every error that a route throws into a status and `{"error": "<code>"}`, without internal details. */
export const errors = plugin(
  async (app) => {
    app.setErrorHandler<FastifyError | Error>(async (error, request, reply) => {
      const httpError = error instanceof HttpError ? error : toHttpError(error);
      if (httpError.status >= 500) request.log.warn({ error, code: httpError.code }, "request failed");
      return reply
        .code(httpError.status)
        .headers(httpError.headers)
        .header("cache-control", "no-store")
        .send({ error: httpError.code });
    });
  },
  { name: "errors" },
);

function toHttpError(error: Error & { statusCode?: number }): HttpError {
  switch (error.statusCode) {
    case 413:
      return new HttpError(413, "payload_too_large", {}, { cause: error });
    case 400:
    case 415:
      return new HttpError(400, "invalid_request", {}, { cause: error });
    default:
      return new HttpError(500, "internal_error", {}, { cause: error });
  }
}
