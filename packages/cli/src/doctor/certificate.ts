import { once } from "node:events";
import { isIP } from "node:net";
import { checkServerIdentity, connect, type PeerCertificate, type TLSSocket } from "node:tls";
import { type Finding, fail, pass, warn } from "./finding.ts";
import { codeOf, hostOf, portOf } from "./reach.ts";

const HANDSHAKE_TIMEOUT_MS = 10_000;
const DAY_MS = 86_400_000;
const SOON_DAYS = 14;

/** What came of a TLS handshake. */
export type Handshake = {
  finding: Finding;
  /** Whether there was one at all. */
  done: boolean;
  /** Whether HTTP/2 was agreed on. */
  http2: boolean;
};

/** Shakes hands as a browser would and judges the certificate: chain, names and dates. @param nowMs this machine's time. */
export async function shakeHands(url: URL, nowMs: number): Promise<Handshake> {
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
    const finding = judge(socket, host, nowMs);
    return { finding, done: true, http2: socket.alpnProtocol === "h2" };
  } catch (error) {
    return { finding: noHandshake(codeOf(error), portOf(url)), done: false, http2: false };
  } finally {
    socket.destroy();
  }
}

function noHandshake(code: string, port: number): Finding {
  return fail("certificate", `port ${port} does not shake hands for TLS (${code})`, {
    mend: "see that the proxy ends TLS on this port, and has a certificate for this host name",
  });
}

function judge(socket: TLSSocket, host: string, nowMs: number): Finding {
  const certificate = socket.getPeerCertificate();
  const until = Date.parse(certificate.valid_to);
  const problems = [
    ...dateProblems(certificate, nowMs),
    ...nameProblems(certificate, host),
    ...chainProblems(socket.authorizationError, certificate),
  ];
  const message = problems.map(({ problem }) => problem).join("; ");
  if (problems.length > 0) {
    const mends = problems.map(({ mend }) => mend);
    return fail("certificate", message, { mend: [...new Set(mends)].join("; ") });
  }
  const days = Math.floor((until - nowMs) / DAY_MS);
  const valid = `valid for ${host} until ${day(until)}, ${days} days from now`;
  if (days >= SOON_DAYS) return pass("certificate", valid);
  return warn("certificate", valid, { mend: "see why it is not renewed by now: cert-manager renews at two thirds" });
}

type Problem = { problem: string; mend: string };

function dateProblems(certificate: PeerCertificate, nowMs: number): Problem[] {
  const [from, until] = [Date.parse(certificate.valid_from), Date.parse(certificate.valid_to)];
  if (until < nowMs)
    return [{ problem: `expired on ${day(until)}`, mend: "renew the certificate, and see why it was not renewed" }];
  if (from > nowMs)
    return [{ problem: `not valid before ${day(from)}`, mend: "see the clock of this machine and of who issued it" }];
  return [];
}

function nameProblems(certificate: PeerCertificate, host: string): Problem[] {
  if (checkServerIdentity(host, certificate) === undefined) return [];
  const names = certificate.subjectaltname?.replaceAll(/\b(DNS|IP Address):/g, "") || "no name";
  return [{ problem: `made for ${names}, not for ${host}`, mend: `have a certificate issued for ${host}` }];
}

const UNKNOWN_AUTHORITY: Problem = {
  problem: "issued by an authority that this machine does not know",
  mend: "have it issued by a public authority; for one of your own set NODE_EXTRA_CA_CERTS to its certificate",
};

const INCOMPLETE_CHAIN: Problem = {
  problem: "its chain is incomplete: the certificate in between does not come with it",
  mend: "give the proxy the full chain: the server's certificate, and below it those in between",
};

// Dates and names are judged above, all of them; Node tells the first problem alone.
function chainProblems(error: Error | string | undefined, certificate: PeerCertificate): Problem[] {
  const code = typeof error === "string" ? error : ((error as NodeJS.ErrnoException | undefined)?.code ?? "");
  switch (code) {
    case "DEPTH_ZERO_SELF_SIGNED_CERT":
      return [{ problem: "signed by itself: no browser trusts it", mend: "have it issued by an authority" }];
    case "UNABLE_TO_VERIFY_LEAF_SIGNATURE":
    case "UNABLE_TO_GET_ISSUER_CERT":
      // A public authority says where the certificate in between is to be had; a private one says nothing.
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
      return [{ problem: `refused (${code})`, mend: "have it issued anew" }];
  }
}

function day(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
