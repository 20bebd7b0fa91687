import plugin from "fastify-plugin";
import { HttpError } from "./http-error.ts";

const MAX_HEADERS = 100;

/** Refuses requests with more header lines than browsers and proxies send. The parser limits the size of the headers. */
export const headerLimits = plugin(
  async (app) => {
    app.addHook("onRequest", ({ raw }, _, done) => {
      // rawHeaders alternates names and values.
      if (raw.rawHeaders.length / 2 <= MAX_HEADERS) done();
      else done(new HttpError(431, "headers_too_large", { connection: "close" }));
    });
  },
  { name: "header-limits" },
);
