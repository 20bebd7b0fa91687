import type { Cause } from "./finding.ts";
import type { ProxyKind } from "./proxies.ts";

const setAnnotation = (name: string, value: string) =>
  `set the Ingress' annotation nginx.ingress.kubernetes.io/${name}: "${value}"`;

/** The fix for each cause and proxy. If the proxy cannot be the cause, the text names what to check instead. */
const FIXES: Readonly<Record<Cause, Readonly<Record<ProxyKind, string>>>> = {
  buffering: {
    "ingress-nginx": `${setAnnotation("proxy-buffering", "off")}, and remove proxy_ignore_headers X-Accel-Buffering from snippets`,
    nginx: "in the location of /api/, set 'proxy_buffering off;' and remove 'proxy_ignore_headers X-Accel-Buffering'",
    traefik: "remove the buffering middleware from Parley's router",
    envoy: "remove filters that buffer bodies (buffer, file_system_buffer, ext_proc in a buffered mode) from the route",
    alb: "it does not buffer streams: check the proxies behind it",
    gcp: "turn Cloud CDN off for the backend; without it, streams are not buffered",
    cloudflare: "turn response buffering off for the host, and stream response bodies in Workers",
    caddy: "set flush_interval -1 in the reverse_proxy block",
    haproxy: "remove http-response wait-for-body from the backend",
  },
  compression: {
    "ingress-nginx":
      'remove text/event-stream from gzip-types (and brotli-types) in its ConfigMap, or set use-gzip: "false"',
    nginx: "set 'gzip off;' in the location of /api/, or remove text/event-stream from gzip_types",
    traefik: "set excludedContentTypes: [text/event-stream] in the compress middleware",
    envoy: "remove text/event-stream from content_type of the compressor filter",
    alb: "it does not compress: check the proxies behind it",
    gcp: "set compressionMode: DISABLED in the backend service",
    cloudflare: "add a Compression Rule that disables compression for /api/",
    caddy: "give encode a Content-Type match that excludes text/event-stream",
    haproxy: "remove text/event-stream from compression type",
  },
  // A limit for the whole response must be at least 420 s, because a reply takes up to seven minutes. For an idle limit, 60 s is enough,
  // because the edge sends a heartbeat after 15 s of silence. nginx, Caddy and HAProxy have idle limits: 420 s is more than they need.
  timeout: {
    "ingress-nginx": setAnnotation("proxy-read-timeout", "420"),
    nginx: "set 'proxy_read_timeout 420s;' in the location of /api/",
    traefik: "set respondingTimeouts.writeTimeout: 0 and readTimeout: 0 in the entry point",
    envoy:
      "set timeouts.request: 0s in the HTTPRoute (in native Envoy configuration, timeout: 0s in the route), and any idle_timeout to at least 60s",
    alb: "set alb.ingress.kubernetes.io/load-balancer-attributes: idle_timeout.timeout_seconds=60",
    gcp: "set timeoutSec: 420 in the BackendConfig: by default, each response ends after 30 s",
    cloudflare: "its idle timeout is 100 s: check the proxies behind it",
    caddy:
      "set read_timeout 420s in the transport of reverse_proxy, and remove the write timeout from servers { timeouts }",
    haproxy: "set timeout server 420s and timeout client 420s",
  },
  address: {
    "ingress-nginx":
      'set externalTrafficPolicy: Local in its Service; if another proxy is in front of it, set use-forwarded-headers: "true" and proxy-real-ip-cidr in its ConfigMap',
    nginx: "set 'proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;'",
    traefik: "if another proxy is in front of it, set forwardedHeaders.trustedIPs in the entry point",
    envoy:
      "set use_remote_address: true; with Envoy Gateway, set clientIPDetection.xForwardedFor.numTrustedHops in a ClientTrafficPolicy",
    alb: "set load-balancer-attributes: routing.http.xff_header_processing.mode=append, and add the load balancer's subnets to edge.trustedProxies",
    gcp: "add 130.211.0.0/22, 35.191.0.0/16 and the forwarding rule's address, which the load balancer appends too, to edge.trustedProxies",
    cloudflare: "also add the networks of https://www.cloudflare.com/ips/ to edge.trustedProxies",
    caddy:
      "it sets X-Forwarded-For automatically; if another proxy is in front of it, set trusted_proxies in servers { }",
    haproxy: "set option forwardfor",
  },
  forged: {
    "ingress-nginx":
      'set use-forwarded-headers: "false" in its ConfigMap, or proxy-real-ip-cidr to only the proxies in front of it',
    nginx:
      "if nginx is the first proxy, set 'proxy_set_header X-Forwarded-For $remote_addr;'; never forward $http_x_forwarded_for",
    traefik:
      "set forwardedHeaders.insecure: false in the entry point, and trustedIPs to only the proxies in front of it",
    envoy: "set use_remote_address: true, and xff_num_trusted_hops to at most the number of proxies in front of it",
    alb: "set routing.http.xff_header_processing.mode=append, not preserve",
    gcp: "it appends the address automatically: list only its networks and the forwarding rule's address in edge.trustedProxies",
    cloudflare: "allow only Cloudflare's networks to reach the origin",
    caddy: "remove header_up X-Forwarded-For, and set trusted_proxies to only the proxies in front of it",
    haproxy: "add http-request del-header X-Forwarded-For before option forwardfor",
  },
  http1: {
    "ingress-nginx": 'set use-http2: "true", the default, in its ConfigMap',
    nginx: "set 'http2 on;' (before nginx 1.25.1: 'listen 443 ssl http2;')",
    traefik: "HTTP/2 is on with TLS: remove alpnProtocols from the TLS options",
    envoy: "set codec_type: AUTO in the connection manager, and alpn_protocols [h2, http/1.1]",
    alb: "set routing.http2.enabled=true in load-balancer-attributes, with an HTTPS listener",
    gcp: "an HTTPS frontend supports HTTP/2 by default: check that the frontend is HTTPS",
    cloudflare: "turn HTTP/2 on under Speed, Protocol",
    caddy: "set servers { protocols h1 h2 h3 }, which is the default",
    haproxy: "set alpn h2,http/1.1 on the bind line",
  },
  cors: {
    "ingress-nginx":
      "remove the annotation nginx.ingress.kubernetes.io/enable-cors, and add_header Access-Control-* from snippets",
    nginx: "remove add_header Access-Control-*, and forward OPTIONS like any other method",
    traefik: "remove accessControl* from the headers middlewares of this router",
    envoy: "remove the cors filter from the route",
    alb: "remove the CORS headers from the listener's attributes (routing.http.response.access_control_*)",
    gcp: "remove corsPolicy from the URL map, and Access-Control-* from the custom response headers",
    cloudflare: "remove the Transform Rule or Worker that sets Access-Control-*",
    caddy: "remove header Access-Control-*",
    haproxy: "remove http-response set-header and add-header Access-Control-*",
  },
  cache: {
    "ingress-nginx": "remove proxy_cache for /api/ from snippets, or let it respect Vary",
    nginx: "remove 'proxy_ignore_headers Vary' and 'proxy_hide_header Vary'",
    traefik: "remove the cache plugin from this router",
    envoy: "remove the cache filter from the route",
    alb: "it does not cache: check the proxies in front of it and behind it",
    gcp: "turn Cloud CDN off for the backend, or put Origin into its cache key",
    cloudflare: "add a Cache Rule that bypasses the cache for /api/",
    caddy: "remove the cache handler for /api/",
    haproxy: "remove http-request cache-use for /api/, or set process-vary on",
  },
};

export function findProxyFixes(cause: Cause, proxies: readonly ProxyKind[]): { proxy: ProxyKind; fix: string }[] {
  return proxies.map((proxy) => ({ proxy, fix: FIXES[cause][proxy] }));
}
