import plugin from "fastify-plugin";

/** Gives routes their body as bytes, whatever Content-Type says: the body decides what it is. */
export const rawBody = plugin(
  async (app) => {
    app.removeAllContentTypeParsers();
    app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
    app.addHook("onRequest", (request, _, done) => {
      // A header that cannot be read would be refused before the body is looked at.
      request.raw.headers["content-type"] = "application/octet-stream";
      done();
    });
  },
  { name: "raw-body" },
);
