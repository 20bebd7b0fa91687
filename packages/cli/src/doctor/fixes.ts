import type { Cause } from "./finding.ts";
import type { ProxyKind } from "./proxies.ts";

const annotation = (name: string, value: string) =>
  `the Ingress' annotation nginx.ingress.kubernetes.io/${name}: "${value}"`;

/** The fix for each problem and proxy. If the proxy cannot cause the problem, the text names what to check instead. */
const FIXES: Readonly<Record<Cause, Readonly<Record<ProxyKind, string>>>> = {
  buffering: {
    "ingress-nginx": `${annotation("proxy-buffering", "off")}, and no proxy_ignore_headers X-Accel-Buffering in a snippet`,
    nginx: "proxy_buffering off; in the location of /api/, and no proxy_ignore_headers X-Accel-Buffering",
    traefik: "remove the buffering middleware from Parley's router",
    envoy: "remove filters that buffer bodies (buffer, file_system_buffer, ext_proc in a buffered mode) from the route",
    alb: "it does not buffer streams: check the proxies behind it",
    gcp: "turn Cloud CDN off for the backend; without it, streams are not buffered",
    cloudflare: "turn response buffering off for the host, and stream response bodies in Workers",
    caddy: "flush_interval -1 in the reverse_proxy block",
    haproxy: "remove http-response wait-for-body from the backend",
  },
  compression: {
    "ingress-nginx": 'gzip-types (and brotli-types) in its ConfigMap without text/event-stream, or use-gzip: "false"',
    nginx: "gzip off; in the location of /api/, or gzip_types without text/event-stream",
    traefik: "excludedContentTypes: [text/event-stream] of the compress middleware",
    envoy: "content_type of the compressor filter without text/event-stream",
    alb: "it does not compress: check the proxies behind it",
    gcp: "compressionMode: DISABLED of the backend service",
    cloudflare: "a Compression Rule that disables compression for /api/",
    caddy: "encode with a Content-Type match that excludes text/event-stream",
    haproxy: "compression type without text/event-stream",
  },
  timeout: {
    "ingress-nginx": annotation("proxy-read-timeout", "330"),
    nginx: "proxy_read_timeout 330s; in the location of /api/",
    traefik: "respondingTimeouts.writeTimeout: 0 and readTimeout: 0 of the entry point",
    envoy:
      "timeouts.request: 0s of the HTTPRoute (in native Envoy configuration, timeout: 0s of the route), and no idle_timeout below 60s",
    alb: "alb.ingress.kubernetes.io/load-balancer-attributes: idle_timeout.timeout_seconds=60",
    gcp: "timeoutSec: 330 of the BackendConfig: its default of 30 s covers the whole response",
    cloudflare: "its idle timeout is 100 s: check the proxies behind it",
    caddy: "read_timeout 330s in the transport of reverse_proxy, and no write timeout in servers { timeouts }",
    haproxy: "timeout server 330s and timeout client 330s",
  },
  address: {
    "ingress-nginx":
      'externalTrafficPolicy: Local of its Service; use-forwarded-headers: "true" with proxy-real-ip-cidr in its ConfigMap when another proxy is in front of it',
    nginx: "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
    traefik: "forwardedHeaders.trustedIPs of the entry point when another proxy is in front of it",
    envoy:
      "use_remote_address: true; with Envoy Gateway clientIPDetection.xForwardedFor.numTrustedHops in a ClientTrafficPolicy",
    alb: "load-balancer-attributes: routing.http.xff_header_processing.mode=append; trust the load balancer's subnets",
    gcp: "trust 130.211.0.0/22, 35.191.0.0/16 and the address of the forwarding rule, which it also appends",
    cloudflare: "trust the networks of https://www.cloudflare.com/ips/ as well",
    caddy: "trusted_proxies in servers { } when another proxy is in front of it; it sets X-Forwarded-For automatically",
    haproxy: "option forwardfor",
  },
  forged: {
    "ingress-nginx":
      'use-forwarded-headers: "false" in its ConfigMap, or proxy-real-ip-cidr with only the proxies in front of it',
    nginx: "proxy_set_header X-Forwarded-For $remote_addr; where nginx is the first proxy, never $http_x_forwarded_for",
    traefik: "forwardedHeaders.insecure: false of the entry point, and trustedIPs with only the proxies in front of it",
    envoy: "use_remote_address: true, and xff_num_trusted_hops at most the number of proxies in front of it",
    alb: "routing.http.xff_header_processing.mode=append, not preserve",
    gcp: "it appends the address automatically: trust only its networks and the forwarding rule's address",
    cloudflare: "allow only Cloudflare's networks to reach the origin",
    caddy: "no header_up X-Forwarded-For of your own, and trusted_proxies with only the proxies in front of it",
    haproxy: "http-request del-header X-Forwarded-For before option forwardfor",
  },
  http1: {
    "ingress-nginx": 'use-http2: "true" in its ConfigMap, its default',
    nginx: "http2 on; (before nginx 1.25.1: listen 443 ssl http2;)",
    traefik: "HTTP/2 is on with TLS: remove alpnProtocols from the TLS options",
    envoy: "codec_type: AUTO of the connection manager, and alpn_protocols [h2, http/1.1]",
    alb: "routing.http2.enabled=true in load-balancer-attributes, with an HTTPS listener",
    gcp: "an HTTPS frontend supports HTTP/2 by default: check that the frontend is HTTPS",
    cloudflare: "turn HTTP/2 on under Speed, Protocol",
    caddy: "servers { protocols h1 h2 h3 }, its default",
    haproxy: "alpn h2,http/1.1 on the bind line",
  },
  cors: {
    "ingress-nginx":
      "no annotation nginx.ingress.kubernetes.io/enable-cors, and no add_header Access-Control-* in snippets",
    nginx: "no add_header Access-Control-*, and OPTIONS forwarded like any other method",
    traefik: "no accessControl* in a headers middleware of this router",
    envoy: "no cors filter on the route",
    alb: "no CORS headers in the listener's attributes (routing.http.response.access_control_*)",
    gcp: "no corsPolicy in the URL map and no Access-Control-* among the custom response headers",
    cloudflare: "no Transform Rule or Worker that sets Access-Control-*",
    caddy: "no header Access-Control-* of your own",
    haproxy: "no http-response set-header or add-header Access-Control-*",
  },
  cache: {
    "ingress-nginx": "no proxy_cache in snippets for /api/, or one that respects Vary",
    nginx: "no proxy_ignore_headers Vary; and no proxy_hide_header Vary",
    traefik: "no cache plugin on this router",
    envoy: "no cache filter on the route",
    alb: "it does not cache: check the proxies in front of it and behind it",
    gcp: "turn Cloud CDN off for the backend, or put Origin into its cache key",
    cloudflare: "a Cache Rule that bypasses the cache for /api/",
    caddy: "no cache handler for /api/",
    haproxy: "no http-request cache-use for /api/, or process-vary on",
  },
};

/** Returns the fix for each detected proxy. */
export function findProxyFixes(cause: Cause, proxies: readonly ProxyKind[]): { proxy: ProxyKind; fix: string }[] {
  return proxies.map((proxy) => ({ proxy, fix: FIXES[cause][proxy] }));
}
