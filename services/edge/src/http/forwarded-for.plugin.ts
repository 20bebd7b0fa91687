import type { Counter } from "@parley/service-kit";
import plugin from "fastify-plugin";
import ipaddr from "ipaddr.js";

/**
 * Lets the edge read addresses with a port in X-Forwarded-For, as Azure's gateway and AWS' load balancers may send them. Counts the requests
 * whose address it cannot read: they all share one rate limit.
 */
export const forwardedFor = plugin<{ unreadableAddresses: Pick<Counter, "inc"> }>(
  async (app, { unreadableAddresses }) => {
    app.addHook("onRequest", (request, _, done) => {
      const { headers } = request.raw;
      const value = headers["x-forwarded-for"];
      if (typeof value === "string") {
        // Before request.ip is read: a proxy's address with a port would not be a trusted one.
        headers["x-forwarded-for"] = value.split(",").map(withoutPort).join(",");
        if (!ipaddr.isValid(request.ip)) unreadableAddresses.inc();
      }
      done();
    });
  },
  { name: "forwarded-for" },
);

const WITH_PORT = /^(?:\[([^\]]*)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/;

/** "192.0.2.1:80" and "[2001:db8::1]:80" become the address. An IPv6 address without brackets has no port. */
function withoutPort(entry: string): string {
  const text = entry.trim();
  const [, ipv6, ipv4] = WITH_PORT.exec(text) ?? [];
  return ipv6 ?? ipv4 ?? text;
}
