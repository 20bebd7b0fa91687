import { type EndpointResponse, readHeader } from "./http-request.ts";

/** The proxies for which fixes.ts has advice. */
export const PROXIES = [
  "ingress-nginx",
  "nginx",
  "traefik",
  "envoy",
  "alb",
  "gcp",
  "cloudflare",
  "caddy",
  "haproxy",
] as const;

export type ProxyKind = (typeof PROXIES)[number];

export const PROXY_NAMES: Readonly<Record<ProxyKind, string>> = {
  "ingress-nginx": "ingress-nginx",
  nginx: "nginx",
  traefik: "Traefik",
  envoy: "Envoy",
  alb: "AWS Application Load Balancer",
  gcp: "Google Cloud Load Balancing",
  cloudflare: "Cloudflare",
  caddy: "Caddy",
  haproxy: "HAProxy",
};

/** Detects proxies from response headers and from the names of the request headers that arrived at the edge. */
export function detectProxies(
  response: Pick<EndpointResponse, "headers">,
  requestHeaderNames: readonly string[],
): ProxyKind[] {
  const server = readHeader(response, "server");
  const via = readHeader(response, "via");
  const cookies = readHeader(response, "set-cookie");
  const hasHeader = (name: string) => readHeader(response, name) !== "";
  const isDetected: Record<ProxyKind, boolean> = {
    "ingress-nginx":
      requestHeaderNames.includes("x-forwarded-scheme") ||
      requestHeaderNames.includes("x-scheme") ||
      requestHeaderNames.includes("x-original-forwarded-for"),
    nginx: /\b(nginx|openresty)\b/i.test(server),
    traefik: /traefik/i.test(`${server} ${via}`) || requestHeaderNames.includes("x-forwarded-server"),
    envoy:
      /\bistio-envoy\b|\benvoy\b/i.test(`${server} ${via}`) ||
      hasHeader("x-envoy-upstream-service-time") ||
      requestHeaderNames.some((name) => name.startsWith("x-envoy-")),
    alb: /awselb/i.test(server) || /\bAWSALB/.test(cookies) || requestHeaderNames.includes("x-amzn-trace-id"),
    gcp: /\bgoogle\b/i.test(via) || requestHeaderNames.includes("x-cloud-trace-context"),
    cloudflare: /cloudflare/i.test(server) || hasHeader("cf-ray") || requestHeaderNames.includes("cf-ray"),
    caddy: /\bcaddy\b/i.test(`${server} ${via}`),
    haproxy: /haproxy/i.test(`${server} ${via}`),
  };
  return PROXIES.filter((proxy) => isDetected[proxy] && !(proxy === "nginx" && isDetected["ingress-nginx"]));
}
