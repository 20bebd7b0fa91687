import plugin from "fastify-plugin";

/** Passes bodies to routes as bytes and ignores Content-Type, because clients send JSON with various types. */
export const rawBody = plugin(
  async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
    app.addHook("onRequest", (request, _, done) => {
      // Fastify would refuse a malformed Content-Type before it reads the body.
      request.raw.headers["content-type"] = "application/octet-stream";
      done();
    });
  },
  { name: "raw-body" },
);
