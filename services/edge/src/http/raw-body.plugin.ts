import plugin from "fastify-plugin";

/** Smaller bodies are parsed and checked within half a millisecond whatever they hold, the largest within a few. */
const LARGE_BODY_BYTES = 8 * 1024;

/**
 * Gives routes their body as bytes, whatever Content-Type says: the body decides what it is. In each turn of the event loop at most one
 * large body reaches its route, however many have arrived, so that other requests wait for one of them and not for all.
 */
export const rawBody = plugin(
  async (app) => {
    const waiting: (() => void)[] = [];

    function handOver(): void {
      const next = waiting.shift();
      if (waiting.length > 0) setImmediate(handOver);
      next?.();
    }

    app.removeAllContentTypeParsers();
    app.addContentTypeParser<Buffer>("*", { parseAs: "buffer" }, (_request, body, done) => {
      if (body.length <= LARGE_BODY_BYTES) return done(null, body);
      if (waiting.push(() => done(null, body)) === 1) setImmediate(handOver);
    });
    app.addHook("onRequest", (request, _, done) => {
      // A header that cannot be read would be refused before the body is looked at.
      request.raw.headers["content-type"] = "application/octet-stream";
      done();
    });
  },
  { name: "raw-body" },
);
