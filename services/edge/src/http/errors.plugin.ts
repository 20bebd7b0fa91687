import type { FastifyError } from "fastify";
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

export type ErrorsOptions = { onRefusal: OnRefusal };

/** One place that turns what a route throws into an answer: a status, `{"<key>": "<code>"}`, never anything of the inside. */
export const errors = plugin<ErrorsOptions>(
  async (app, { onRefusal }) => {
    app.setErrorHandler<FastifyError | Error>((error, request, reply) => {
      const known = error instanceof HttpError ? error : fromFramework(error);
      if (known.status >= 500) request.log.warn({ error, code: known.code }, "request failed");
      onRefusal(known.code, routeOf(request));
      const key = request.routeOptions.config.errorKey ?? "error";
      // Fastify would close the connection, and who is still sending would see it reset instead of an answer. Node reads and
      // throws away what is left of the body, until the request timeout.
      if (known.status === 413) reply.removeHeader("connection");
      return reply
        .code(known.status)
        .headers(known.headers)
        .header("cache-control", "no-store")
        .send({ [key]: known.code });
    });
    app.setNotFoundHandler((request, reply) => {
      onRefusal("not_found", routeOf(request));
      return reply.code(404).header("cache-control", "no-store").send({ error: "not_found" });
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
