import type { Counter } from "@parley/service-kit";
import plugin from "fastify-plugin";
import ipaddr from "ipaddr.js";

/**
 * Removes the ports that Azure's gateway and AWS' load balancers may add to addresses in X-Forwarded-For. Counts the requests whose
 * address the edge cannot read: they all share one rate limit.
 */
export const forwardedFor = plugin<{ unreadableAddresses: Pick<Counter, "inc"> }>(
  async (app, { unreadableAddresses }) => {
    app.addHook("onRequest", (request, _, done) => {
      const { headers } = request.raw;
      const value = headers["x-forwarded-for"];
      if (typeof value === "string") {
        // Must precede every read of request.ip: Fastify does not trust a proxy whose address has a port.
        headers["x-forwarded-for"] = value.split(",").map(withoutPort).join(",");
        if (!ipaddr.isValid(request.ip)) unreadableAddresses.inc();
      }
      done();
    });
  },
  { name: "forwarded-for" },
);

const WITH_PORT = /^(?:\[([^\]]*)\](?::\d+)?|(\d+\.\d+\.\d+\.\d+):\d+)$/;

/** Removes the port from "192.0.2.1:80", and the brackets and the port from "[2001:db8::1]:80". IPv6 without brackets has no port. */
function withoutPort(entry: string): string {
  const text = entry.trim();
  const [, ipv6, ipv4] = WITH_PORT.exec(text) ?? [];
  return ipv6 ?? ipv4 ?? text;
}
