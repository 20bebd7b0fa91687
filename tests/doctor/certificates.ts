import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type GenerateResult, generate } from "selfsigned";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** File paths for nginx. */
export type CertificateFiles = { cert: string; key: string };

export type Certificates = {
  /** For NODE_EXTRA_CA_CERTS. */
  authority: string;
  /** For 127.0.0.1. */
  good: CertificateFiles;
  /** For 127.0.0.1; expired an hour ago. */
  expired: CertificateFiles;
  /** For 127.0.0.1; expires in three days. */
  expiringSoon: CertificateFiles;
  /** For another host. */
  otherHost: CertificateFiles;
  selfSigned: CertificateFiles;
};

const ADDRESS = { type: 7, ip: "127.0.0.1" } as const;
const OTHER_HOST = { type: 2, value: "other.example" } as const;

/** Writes valid and invalid certificates of a test authority. */
export async function createCertificates(directory: string): Promise<Certificates> {
  const authority = await generate([{ name: "commonName", value: "Test authority" }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [
      { name: "basicConstraints", cA: true },
      { name: "keyUsage", keyCertSign: true },
    ],
  });
  const issue = (name: string, from: number, until: number, altName: AltName = ADDRESS) =>
    write(directory, name, authority, { from, until, altName });
  const authorityFile = join(directory, "authority.crt");
  await writeFile(authorityFile, authority.cert);
  return {
    authority: authorityFile,
    good: await issue("good", -DAY_MS, 90 * DAY_MS),
    expired: await issue("expired", -30 * DAY_MS, -HOUR_MS),
    expiringSoon: await issue("expiring-soon", -30 * DAY_MS, 3 * DAY_MS),
    otherHost: await issue("other-host", -DAY_MS, 90 * DAY_MS, OTHER_HOST),
    selfSigned: await write(directory, "self-signed", undefined, {
      from: -DAY_MS,
      until: 90 * DAY_MS,
      altName: ADDRESS,
    }),
  };
}

type AltName = typeof ADDRESS | typeof OTHER_HOST;
type Terms = { from: number; until: number; altName: AltName };

async function write(
  directory: string,
  name: string,
  authority: GenerateResult | undefined,
  { from, until, altName }: Terms,
): Promise<CertificateFiles> {
  const certificate = await generate([{ name: "commonName", value: name }], {
    keyType: "ec",
    algorithm: "sha256",
    notBeforeDate: new Date(Date.now() + from),
    notAfterDate: new Date(Date.now() + until),
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
