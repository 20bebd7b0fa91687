import plugin from "fastify-plugin";

/** On every answer, the ones written past Fastify too. HSTS is the ingress', which ends TLS. */
export const SECURITY_HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  // Nothing of ours is a page but the playground, which brings a policy of its own.
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
} as const;

export const securityHeaders = plugin(
  async (app) => {
    app.addHook("onRequest", (_, reply, done) => {
      reply.headers(SECURITY_HEADERS);
      done();
    });
  },
  { name: "security-headers" },
);
