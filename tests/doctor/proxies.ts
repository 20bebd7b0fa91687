import { freePort, freePorts } from "@parley/test-support";
import { runNginx } from "../system/servers/nginx.ts";
import type { CertificateFiles, Certificates } from "./certificates.ts";

/** Names of the nginx servers. `healthy` and `healthyTls` have no fault. Each other server has the name of its fault. */
export type ServerName = (typeof SERVER_NAMES)[number];

const SERVER_NAMES = [
  "healthy",
  "healthyTls",
  "buffering",
  "compressing",
  "shortTimeout",
  "clearingForwardedFor",
  "hidingAddress",
  "forwardingForgery",
  "untrusted",
  "trustingAll",
  "clockBehind",
  "overridingCors",
  "expired",
  "expiringSoon",
  "selfSigned",
  "otherHostName",
  "redirecting",
  "backendDown",
] as const;

export type Proxies = { url(server: ServerName): string; stop(): Promise<void> };

/** Ports of the edges. */
export type EdgePorts = {
  /** Of an edge that trusts 127.0.0.2, from which most servers connect. */
  good: number;
  /** Of an edge that trusts every address. */
  trustingAll: number;
  /** Of an edge that trusts 127.0.0.2 and whose clock is behind. */
  clockBehind: number;
};

const HTTP2_SERVERS: readonly ServerName[] = ["healthyTls", "buffering"];
const FORWARDED = "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;";

/** Starts one nginx with all servers in front of the edges. */
export async function startProxies(edgePorts: EdgePorts, certificates: Certificates): Promise<Proxies> {
  const ports = await freePorts(SERVER_NAMES.length);
  const portOf = (server: ServerName) => ports[SERVER_NAMES.indexOf(server)] ?? 0;
  const closedPort = await freePort();

  const proxied = (directives: string, edgePort = edgePorts.good, from = "127.0.0.2", forwarded = FORWARDED) =>
    `location / { proxy_pass http://127.0.0.1:${edgePort}; proxy_bind ${from}; ${forwarded} ${directives} }`;
  const tls = ({ cert, key }: CertificateFiles) => `ssl_certificate ${cert}; ssl_certificate_key ${key};`;
  const serverDirectives: Record<ServerName, string> = {
    healthy: proxied(""),
    healthyTls: tls(certificates.good) + proxied("proxy_http_version 1.1; proxy_buffering off;"),
    buffering: tls(certificates.good) + proxied("proxy_ignore_headers X-Accel-Buffering;"),
    compressing: `gzip on; gzip_types text/event-stream; gzip_proxied any; gzip_min_length 1; ${proxied("")}`,
    shortTimeout: proxied("proxy_read_timeout 1s;"),
    clearingForwardedFor: proxied("", edgePorts.good, "127.0.0.2", 'proxy_set_header X-Forwarded-For "";'),
    hidingAddress: proxied("", edgePorts.good, "127.0.0.2", "proxy_set_header X-Forwarded-For unknown;"),
    forwardingForgery: proxied(
      "proxy_set_header X-Forwarded-For $http_x_forwarded_for;",
      edgePorts.good,
      "127.0.0.2",
      "",
    ),
    untrusted: proxied("", edgePorts.good, "127.0.0.3"),
    trustingAll: proxied("", edgePorts.trustingAll),
    clockBehind: proxied("", edgePorts.clockBehind),
    overridingCors: proxied("add_header Access-Control-Allow-Origin * always; proxy_hide_header Vary;"),
    expired: tls(certificates.expired) + proxied(""),
    expiringSoon: tls(certificates.expiringSoon) + proxied(""),
    selfSigned: tls(certificates.selfSigned) + proxied(""),
    otherHostName: tls(certificates.otherHost) + proxied(""),
    redirecting: "return 301 https://elsewhere.example$request_uri;",
    backendDown: proxied("", closedPort),
  };
  const isTls = (server: ServerName) => serverDirectives[server].startsWith("ssl_");
  const { stop } = await runNginx(portOf("healthy"), () =>
    SERVER_NAMES.map((server) => {
      const listenOptions = HTTP2_SERVERS.includes(server) ? "ssl http2" : isTls(server) ? "ssl" : "";
      return `server { listen 127.0.0.1:${portOf(server)} ${listenOptions}; ${serverDirectives[server]} }`;
    }).join("\n"),
  );
  return { url: (server) => `${isTls(server) ? "https" : "http"}://127.0.0.1:${portOf(server)}`, stop };
}
