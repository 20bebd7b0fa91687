import plugin from "fastify-plugin";

/**
 * Every response has these headers. client-errors.plugin.ts adds them to the responses that it writes without Fastify. The ingress terminates
 * TLS and sets HSTS.
 */
export const SECURITY_HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  // The only page is the playground, which sets its own policy.
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
