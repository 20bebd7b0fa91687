import { once } from "node:events";
import { isIP } from "node:net";
import { checkServerIdentity, connect, type PeerCertificate, type TLSSocket } from "node:tls";
import { formatCount } from "../output/table.ts";
import { type Finding, fail, pass, warn } from "./finding.ts";
import { codeOf, hostOf, portOf } from "./reachability.ts";

const HANDSHAKE_TIMEOUT_MS = 10_000;
const DAY_MS = 86_400_000;
const EXPIRES_SOON_DAYS = 14;

export type Handshake = {
  finding: Finding;
  hasSucceeded: boolean;
  /** Whether ALPN selected HTTP/2. */
  isHttp2: boolean;
};

/** Makes a TLS handshake that offers HTTP/2, and checks the certificate's chain, names and dates at `nowMs`. */
export async function checkCertificate(url: URL, nowMs: number): Promise<Handshake> {
  const host = hostOf(url);
  const socket = connect({
    host,
    port: portOf(url),
    ALPNProtocols: ["h2", "http/1.1"],
    rejectUnauthorized: false,
    ...(isIP(host) === 0 && { servername: host }),
  });
  try {
    await once(socket, "secureConnect", { signal: AbortSignal.timeout(HANDSHAKE_TIMEOUT_MS) });
    const finding = checkPeer(socket, host, nowMs);
    return { finding, hasSucceeded: true, isHttp2: socket.alpnProtocol === "h2" };
  } catch (error) {
    return { finding: handshakeFailure(codeOf(error), portOf(url)), hasSucceeded: false, isHttp2: false };
  } finally {
    socket.destroy();
  }
}

function handshakeFailure(code: string, port: number): Finding {
  return fail("certificate", `the TLS handshake on port ${port} failed (${code})`, {
    fix: "check that the proxy terminates TLS on this port with a certificate for this host name",
  });
}

function checkPeer(socket: TLSSocket, host: string, nowMs: number): Finding {
  const certificate = socket.getPeerCertificate();
  const until = Date.parse(certificate.valid_to);
  const problems = [
    ...dateProblems(certificate, nowMs),
    ...nameProblems(certificate, host),
    ...chainProblems(socket.authorizationError, certificate),
  ];
  const message = problems.map(({ problem }) => problem).join("; ");
  if (problems.length > 0) {
    const fixes = problems.map(({ fix }) => fix);
    return fail("certificate", message, { fix: [...new Set(fixes)].join("; ") });
  }
  const days = Math.floor((until - nowMs) / DAY_MS);
  const validity = `valid for ${host} until ${formatDay(until)}, ${formatCount(days, "day")} from now`;
  if (days >= EXPIRES_SOON_DAYS) return pass("certificate", validity);
  return warn("certificate", validity, {
    fix: "find out why it is not renewed yet; cert-manager renews after two thirds of the lifetime",
  });
}

type Problem = { problem: string; fix: string };

function dateProblems(certificate: PeerCertificate, nowMs: number): Problem[] {
  const [from, until] = [Date.parse(certificate.valid_from), Date.parse(certificate.valid_to)];
  if (until < nowMs)
    return [
      { problem: `expired on ${formatDay(until)}`, fix: "renew the certificate and find out why renewal failed" },
    ];
  if (from > nowMs)
    return [
      { problem: `not valid before ${formatDay(from)}`, fix: "check the clocks of this machine and of the issuer" },
    ];
  return [];
}

function nameProblems(certificate: PeerCertificate, host: string): Problem[] {
  if (checkServerIdentity(host, certificate) === undefined) return [];
  const names = certificate.subjectaltname?.replaceAll(/\b(DNS|IP Address):/g, "") || "no names";
  return [{ problem: `issued for ${names}, not for ${host}`, fix: `install a certificate for ${host}` }];
}

const UNKNOWN_AUTHORITY: Problem = {
  problem: "issued by an authority that this machine does not trust",
  fix: "use a public authority, or set NODE_EXTRA_CA_CERTS to the file with your own authority's certificate",
};

const INCOMPLETE_CHAIN: Problem = {
  problem: "its chain is incomplete: the server does not send the intermediate certificate",
  fix: "configure the proxy with the full chain: the server's certificate, then the intermediates",
};

// Node reports only the first problem, so dates and names are checked separately above.
function chainProblems(error: Error | string | undefined, certificate: PeerCertificate): Problem[] {
  const code = typeof error === "string" ? error : ((error as NodeJS.ErrnoException | undefined)?.code ?? "");
  switch (code) {
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
      return [
        { problem: "self-signed, so no browser trusts it", fix: "use a certificate from a certificate authority" },
      ];
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
    case "UNABLE_TO_GET_ISSUER_CERT":
      // Usually only public authorities put the URL of the issuer's certificate into the certificates that they issue. This machine trusts
      // public authorities, so if there is a URL, the server omits an intermediate certificate.
      return [certificate.infoAccess?.["CA Issuers - URI"] === undefined ? UNKNOWN_AUTHORITY : INCOMPLETE_CHAIN];
    case "SELF_SIGNED_CERT_IN_CHAIN":
    case "UNABLE_TO_GET_ISSUER_CERT_LOCALLY":
      return [UNKNOWN_AUTHORITY];
    case "":
    case "CERT_HAS_EXPIRED":
    case "CERT_NOT_YET_VALID":
    case "ERR_TLS_CERT_ALTNAME_INVALID":
      return [];
    default:
      return [{ problem: `refused (${code})`, fix: "install a new certificate" }];
  }
}

function formatDay(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
