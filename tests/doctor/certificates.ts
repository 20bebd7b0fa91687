import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type GenerateResult, generate } from "selfsigned";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Paths of a certificate and its private key. */
export type CertificateFiles = { cert: string; key: string };

export type Certificates = {
  /** Path of the test authority's certificate, for NODE_EXTRA_CA_CERTS. */
  authority: string;
  /** For 127.0.0.1. */
  good: CertificateFiles;
  /** For 127.0.0.1; expired an hour ago. */
  expired: CertificateFiles;
  /** For 127.0.0.1; expires in three days. */
  expiringSoon: CertificateFiles;
  otherHost: CertificateFiles;
  /** For 127.0.0.1; signed by no authority. */
  selfSigned: CertificateFiles;
};

/** Alternative names of X.509 certificates. Type 7 is an IP address, and type 2 a DNS name. */
const ADDRESS = { type: 7, ip: "127.0.0.1" } as const;
const OTHER_HOST = { type: 2, value: "other.example" } as const;

export async function createCertificates(directory: string): Promise<Certificates> {
  const authority = await generate([{ name: "commonName", value: "Test authority" }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [
      { name: "basicConstraints", cA: true },
      { name: "keyUsage", keyCertSign: true },
    ],
  });
  const issue = (name: string, fromMs: number, untilMs: number, altName: AltName = ADDRESS) =>
    writeCertificate(directory, name, authority, { fromMs, untilMs, altName });
  const authorityFile = join(directory, "authority.crt");
  await writeFile(authorityFile, authority.cert);
  return {
    authority: authorityFile,
    good: await issue("good", -DAY_MS, 90 * DAY_MS),
    expired: await issue("expired", -30 * DAY_MS, -HOUR_MS),
    expiringSoon: await issue("expiring-soon", -30 * DAY_MS, 3 * DAY_MS),
    otherHost: await issue("other-host", -DAY_MS, 90 * DAY_MS, OTHER_HOST),
    selfSigned: await writeCertificate(directory, "self-signed", undefined, {
      fromMs: -DAY_MS,
      untilMs: 90 * DAY_MS,
      altName: ADDRESS,
    }),
  };
}

type AltName = typeof ADDRESS | typeof OTHER_HOST;
/** Times are relative to now. */
type CertificateTerms = { fromMs: number; untilMs: number; altName: AltName };

/** Writes a self-signed certificate if `authority` is undefined. */
async function writeCertificate(
  directory: string,
  name: string,
  authority: GenerateResult | undefined,
  { fromMs, untilMs, altName }: CertificateTerms,
): Promise<CertificateFiles> {
  const certificate = await generate([{ name: "commonName", value: name }], {
    keyType: "ec",
    algorithm: "sha256",
    notBeforeDate: new Date(Date.now() + fromMs),
    notAfterDate: new Date(Date.now() + untilMs),
    ...(authority && { ca: { key: authority.private, cert: authority.cert } }),
    extensions: [
      { name: "extKeyUsage", serverAuth: true },
      { name: "subjectAltName", altNames: [altName] },
    ],
  });
  const files = { cert: join(directory, `${name}.crt`), key: join(directory, `${name}.key`) };
  await writeFile(files.cert, certificate.cert);
  await writeFile(files.key, certificate.private);
  return files;
}
