import type { IncomingMessage } from "node:http";
import plugin from "fastify-plugin";
import { ERROR_FIELD_HEADER, HttpError } from "../http-error.ts";

/** More header lines than browsers and proxies send. */
const MAX_HEADERS = 100;

/**
 * Refuses requests with too many header lines or several Host lines, and HTTP/1.1 requests with no Host line or an unknown Expect. Node's parser
 * limits the size of the headers.
 */
export const headerLimits = plugin(
  async (app) => {
    // Without this listener, Node would answer an unknown Expect header itself, with an empty body.
    app.server.on("checkExpectation", (request, response) => app.server.emit("request", request, response));
    app.addHook("onRequest", ({ raw }, _, done) => done(refusalFor(raw)));
  },
  { name: "header-limits" },
);

function refusalFor({ rawHeaders, httpVersion, headers }: IncomingMessage): HttpError | undefined {
  const close = { connection: "close" };
  // rawHeaders alternates names and values.
  const names = rawHeaders.filter((_, index) => index % 2 === 0);
  if (names.length > MAX_HEADERS) return new HttpError(431, "headers_too_large", close);
  const hosts = names.filter((name) => name.toLowerCase() === "host").length;
  // Of two Host lines, a proxy may read one and the edge the other. They would then route the same request differently.
  if (hosts > 1 || (hosts === 0 && httpVersion === "1.1"))
    return new HttpError(400, "bad_request", { ...close, [ERROR_FIELD_HEADER]: "Host" });
  const { expect } = headers;
  if (expect !== undefined && httpVersion === "1.1" && expect.toLowerCase() !== "100-continue")
    return new HttpError(417, "expectation_failed", close);
  return undefined;
}
