import plugin from "fastify-plugin";

/** In the worst case, a body up to this size takes 0.5 ms to parse and check, and a larger one a few milliseconds. */
const LARGE_BODY_BYTES = 8 * 1024;

/**
 * Passes bodies to routes as bytes and ignores Content-Type, because clients send JSON with various types. Passes at most one large body
 * per iteration of the event loop, so that another request waits for at most one of them.
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
      // Fastify would refuse a malformed Content-Type before it reads the body.
      request.raw.headers["content-type"] = "application/octet-stream";
      done();
    });
  },
  { name: "raw-body" },
);
