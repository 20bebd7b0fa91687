import { type Answer, headerOf } from "./exchange.ts";

/** What is known how to be mended. */
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

/** What an answer, and the headers that arrived at the edge with its request, give away of who stands between. */
export function recognise(answer: Pick<Answer, "headers">, arrived: readonly string[]): ProxyKind[] {
  const server = headerOf(answer, "server");
  const via = headerOf(answer, "via");
  const cookies = headerOf(answer, "set-cookie");
  const came = (name: string) => headerOf(answer, name) !== "";
  const signs: Record<ProxyKind, boolean> = {
    "ingress-nginx":
      arrived.includes("x-forwarded-scheme") ||
      arrived.includes("x-scheme") ||
      arrived.includes("x-original-forwarded-for"),
    nginx: /\b(nginx|openresty)\b/i.test(server),
    traefik: /traefik/i.test(`${server} ${via}`) || arrived.includes("x-forwarded-server"),
    envoy:
      /\bistio-envoy\b|\benvoy\b/i.test(`${server} ${via}`) ||
      came("x-envoy-upstream-service-time") ||
      arrived.some((name) => name.startsWith("x-envoy-")),
    alb: /awselb/i.test(server) || /\bAWSALB/.test(cookies) || arrived.includes("x-amzn-trace-id"),
    gcp: /\bgoogle\b/i.test(via) || arrived.includes("x-cloud-trace-context"),
    cloudflare: /cloudflare/i.test(server) || came("cf-ray") || arrived.includes("cf-ray"),
    caddy: /\bcaddy\b/i.test(`${server} ${via}`),
    haproxy: /haproxy/i.test(`${server} ${via}`),
  };
  return PROXIES.filter((proxy) => signs[proxy] && !(proxy === "nginx" && signs["ingress-nginx"]));
}
