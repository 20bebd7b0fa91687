import type { FastifyError, FastifyReply, FastifyRequest } from "fastify";
import plugin from "fastify-plugin";
import { HttpError } from "./http-error.ts";
import { routeOf } from "./http-metrics.plugin.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** The key of the error body: `error` in chat and config, `detail` in what needs an access token. */
    errorKey?: "error" | "detail";
  }
}

/** Told of every refusal: its code, and the pattern of the route it was for. */
export type OnRefusal = (code: string, route: string) => void;

/** Counts a malformed request. Returns the refusal to answer instead when its client has sent too many. */
export type CountMalformed = (request: FastifyRequest, reply: FastifyReply) => Promise<HttpError | undefined>;

export type ErrorsOptions = { onRefusal: OnRefusal; countMalformed: CountMalformed };

/**
 * One place that turns what a route throws into an answer: a status, `{"<key>": "<code>"}`, never anything of the inside. It counts
 * the malformed requests: those that failed validation (400) and those that were too large (413).
 */
export const errors = plugin<ErrorsOptions>(
  async (app, { onRefusal, countMalformed }) => {
    app.setErrorHandler<FastifyError | Error>(async (error, request, reply) => {
      const thrown = error instanceof HttpError ? error : fromFramework(error);
      const isMalformed = thrown.status === 400 || thrown.status === 413;
      const known = (isMalformed && (await countMalformed(request, reply))) || thrown;
      if (known.status >= 500) request.log.warn({ error, code: known.code }, "request failed");
      onRefusal(known.code, routeOf(request));
      const key = request.routeOptions.config.errorKey ?? "error";
      // Fastify would close the connection, and who is still sending would see it reset instead of an answer. Node reads and
      // throws away what is left of the body, until the request timeout.
      if (thrown.status === 413) reply.removeHeader("connection");
      return reply
        .code(known.status)
        .headers(known.headers)
        .header("cache-control", "no-store")
        .send({ [key]: known.code });
    });
    // A not-found handler would run after the body was read.
    app.addHook("onRequest", (request, _, done) => {
      done(request.is404 ? new HttpError(404, "not_found") : undefined);
    });
  },
  { name: "errors" },
);

/** Fastify's own refusals in our words. */
function fromFramework(error: Error & { statusCode?: number }): HttpError {
  switch (error.statusCode) {
    case 413:
      return new HttpError(413, "payload_too_large", {}, { cause: error });
    case 408:
      return new HttpError(408, "request_timeout", { connection: "close" }, { cause: error });
    case 400:
      return new HttpError(400, "invalid_json", {}, { cause: error });
    default:
      return new HttpError(500, "internal_error", {}, { cause: error });
  }
}
