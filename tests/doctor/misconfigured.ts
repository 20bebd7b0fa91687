import { freePort, freePorts } from "@parley/test-support";
import { runNginx } from "../system/nginx.ts";
import type { CertificateFiles, Certificates } from "./certificates.ts";

/** Every nginx server by what is wrong with it. */
export type Fault = (typeof FAULTS)[number];

const FAULTS = [
  "healthy",
  "healthyTls",
  "buffering",
  "compressing",
  "impatient",
  "namingNobody",
  "passingForgery",
  "untrusted",
  "trustingAll",
  "clockBehind",
  "ownCors",
  "expired",
  "soonExpired",
  "selfSigned",
  "foreignName",
  "redirecting",
  "leadingNowhere",
] as const;

export type Doors = { url(fault: Fault): string; stop(): Promise<void> };

export type Edges = {
  /** Trusts 127.0.0.2, from which these servers speak to it. */
  good: number;
  /** Trusts every address. */
  gullible: number;
  /** Trusts 127.0.0.2, and its clock is wrong. */
  late: number;
};

const SPEAK_HTTP2: readonly Fault[] = ["healthyTls", "buffering"];
const FORWARDED = "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;";

/** Debian's nginx before the edges, right, and wrong in every way that the doctor knows. */
export async function startDoors(edges: Edges, certificates: Certificates): Promise<Doors> {
  const ports = await freePorts(FAULTS.length);
  const portOf = (fault: Fault) => ports[FAULTS.indexOf(fault)] ?? 0;
  const closed = await freePort();

  const proxied = (own: string, edge = edges.good, from = "127.0.0.2", forwarded = FORWARDED) =>
    `location / { proxy_pass http://127.0.0.1:${edge}; proxy_bind ${from}; ${forwarded} ${own} }`;
  const tls = ({ cert, key }: CertificateFiles) => `ssl_certificate ${cert}; ssl_certificate_key ${key};`;
  const bodies: Record<Fault, string> = {
    healthy: proxied(""),
    healthyTls: tls(certificates.good) + proxied("proxy_http_version 1.1; proxy_buffering off;"),
    buffering: tls(certificates.good) + proxied("proxy_ignore_headers X-Accel-Buffering;"),
    compressing: `gzip on; gzip_types text/event-stream; gzip_proxied any; gzip_min_length 1; ${proxied("")}`,
    impatient: proxied("proxy_read_timeout 1s;"),
    namingNobody: proxied("", edges.good, "127.0.0.2", 'proxy_set_header X-Forwarded-For "";'),
    passingForgery: proxied("proxy_set_header X-Forwarded-For $http_x_forwarded_for;", edges.good, "127.0.0.2", ""),
    untrusted: proxied("", edges.good, "127.0.0.3"),
    trustingAll: proxied("", edges.gullible),
    clockBehind: proxied("", edges.late),
    ownCors: proxied("add_header Access-Control-Allow-Origin * always; proxy_hide_header Vary;"),
    expired: tls(certificates.expired) + proxied(""),
    soonExpired: tls(certificates.soon) + proxied(""),
    selfSigned: tls(certificates.own) + proxied(""),
    foreignName: tls(certificates.foreign) + proxied(""),
    redirecting: "return 301 https://elsewhere.example$request_uri;",
    leadingNowhere: proxied("", closed),
  };
  const isTls = (fault: Fault) => bodies[fault].startsWith("ssl_");
  const { stop } = await runNginx(portOf("healthy"), () =>
    FAULTS.map((fault) => {
      const kind = SPEAK_HTTP2.includes(fault) ? "ssl http2" : isTls(fault) ? "ssl" : "";
      return `server { listen 127.0.0.1:${portOf(fault)} ${kind}; ${bodies[fault]} }`;
    }).join("\n"),
  );
  return { url: (fault) => `${isTls(fault) ? "https" : "http"}://127.0.0.1:${portOf(fault)}`, stop };
}
