import plugin from "fastify-plugin";
import { hasBearerToken } from "./bearer-token.ts";
import { HttpError } from "./http-error.ts";

/** A header that a cross-site form cannot send, and that a cross-site script can send only after a preflight, which the console refuses. */
export const CONSOLE_HEADER = "x-parley-console";

const SAFE_METHODS = new Set(["GET", "HEAD"]);

declare module "fastify" {
  interface FastifyContextConfig {
    /** Whether a bearer token in place of the session's cookies authenticates requests of this route. */
    acceptsBearerToken?: boolean;
  }
}

/**
 * Refuses a request that may change data unless it has both the console's Origin and CONSOLE_HEADER. A request that a bearer token
 * authenticates needs neither, because a browser does not send such a token on its own. Other routes ignore the token and use the cookies,
 * which a browser does send on its own.
 */
export const sameOrigin = plugin<{ origin: string }>(
  async (app, { origin }) => {
    app.addHook("onRequest", (request, _, done) => {
      const { headers, method, routeOptions } = request;
      const hasAuthenticatingToken = routeOptions.config.acceptsBearerToken === true && hasBearerToken(request);
      const isFromPage = headers.origin === origin && headers[CONSOLE_HEADER] !== undefined;
      if (SAFE_METHODS.has(method) || isFromPage || hasAuthenticatingToken) done();
      else done(new HttpError(403, "cross_site_request"));
    });
  },
  { name: "same-origin" },
);
