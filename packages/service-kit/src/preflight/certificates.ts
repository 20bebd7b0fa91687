import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readGrpcCertificates } from "../grpc/certificate-files.ts";

const PEM_CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

/**
 * Throws unless the directory's `tls.crt` and `tls.key` belong together, the certificate is valid now, is for `name` (if given), and has been
 * issued by an authority in `ca.crt` or by an intermediate one in `tls.crt`.
 */
export function assertCertificatesAreUsable(tlsDir: string, name: string | undefined, nowMs = Date.now()): void {
  readGrpcCertificates(tlsDir);
  const [own, ...intermediates] = readAll(join(tlsDir, "tls.crt"));
  if (own === undefined) throw new Error("tls.crt contains no certificate");
  const [from, until] = [Date.parse(own.validFrom), Date.parse(own.validTo)];
  const formatDay = (ms: number) => new Date(ms).toISOString().slice(0, 10);
  if (until < nowMs) throw new Error(`tls.crt expired on ${formatDay(until)}`);
  if (from > nowMs) throw new Error(`tls.crt is not valid before ${formatDay(from)}; check the clocks`);
  if (name !== undefined && own.checkHost(name) === undefined)
    throw new Error(`tls.crt is for ${own.subjectAltName ?? "no name"}, not for ${name}`);
  const issuers = [...intermediates, ...readAll(join(tlsDir, "ca.crt"))];
  if (!issuers.some((issuer) => own.checkIssued(issuer) && own.verify(issuer.publicKey)))
    throw new Error("no authority in ca.crt has issued tls.crt");
}

function readAll(file: string): X509Certificate[] {
  return (readFileSync(file, "utf8").match(PEM_CERTIFICATE) ?? []).map((pem) => new X509Certificate(pem));
}
