import { randomBytes } from "node:crypto";
import plugin from "fastify-plugin";

const NONCE_BYTES = 16;

/** The defaults for every response. Browsers ignore HSTS on plain HTTP. */
const HEADERS = {
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "strict-transport-security": "max-age=31536000",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
} as const;

export const securityHeaders = plugin(
  async (app) => {
    app.addHook("onRequest", (_, reply, done) => {
      reply.headers(HEADERS);
      done();
    });
  },
  { name: "security-headers" },
);

export function createNonce(): string {
  return randomBytes(NONCE_BYTES).toString("base64");
}

/** Returns the Content-Security-Policy of an HTML page. The console frames the preview; no other page may be framed. */
export function createContentSecurityPolicy(nonce: string, frameAncestors: "'none'" | "'self'"): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}' 'strict-dynamic'`,
    `style-src 'self' 'nonce-${nonce}'`,
    "connect-src 'self'",
    "font-src 'self'",
    // The preview shows a bot's logo, which may be anywhere.
    "img-src 'self' data: https: http:",
    "frame-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "object-src 'none'",
    `frame-ancestors ${frameAncestors}`,
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}
