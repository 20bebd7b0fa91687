import plugin from "fastify-plugin";
import { badRequest } from "../http-error.ts";

/** In the worst case, a body up to this size takes 0.5 ms to parse and check, and a larger one a few milliseconds. */
const LARGE_BODY_BYTES = 8 * 1024;

/**
 * Passes bodies to routes as bytes and ignores Content-Type, because clients send JSON with various types. Passes at most one large body
 * per iteration of the event loop, so that another request waits for at most one large body.
 */
export const rawBody = plugin(
  async (app) => {
    const waitingBodies: (() => void)[] = [];

    function passNextBody(): void {
      const next = waitingBodies.shift();
      if (waitingBodies.length > 0) setImmediate(passNextBody);
      next?.();
    }

    app.removeAllContentTypeParsers();
    app.addContentTypeParser<Buffer>("*", { parseAs: "buffer" }, ({ headers }, body, done) => {
      const encoding = headers["content-encoding"] ?? "identity";
      // Parley decompresses no request. If Parley ignored Content-Encoding, a proxy that honours it could read a different body.
      if (encoding.trim().toLowerCase() !== "identity")
        return done(badRequest("invalid_json", "Content-Encoding"), undefined);
      if (body.length <= LARGE_BODY_BYTES) return done(null, body);
      if (waitingBodies.push(() => done(null, body)) === 1) setImmediate(passNextBody);
    });
    app.addHook("onRequest", (request, _, done) => {
      // Fastify would refuse a malformed Content-Type before it reads the body.
      request.raw.headers["content-type"] = "application/octet-stream";
      done();
    });
  },
  { name: "raw-body" },
);
