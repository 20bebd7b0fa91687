import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type GenerateResult, generate } from "selfsigned";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** Where nginx finds what it shows. */
export type CertificateFiles = { cert: string; key: string };

export type Certificates = {
  /** For NODE_EXTRA_CA_CERTS. */
  authority: string;
  /** For 127.0.0.1. */
  good: CertificateFiles;
  /** The same, until an hour ago. */
  expired: CertificateFiles;
  /** The same, for three days more. */
  soon: CertificateFiles;
  /** For another host. */
  foreign: CertificateFiles;
  /** Signed by nobody else. */
  own: CertificateFiles;
};

const ADDRESS = { type: 7, ip: "127.0.0.1" } as const;
const ELSEWHERE = { type: 2, value: "other.example" } as const;

/** Certificates good and bad, of an authority that only a test knows. */
export async function makeCertificates(directory: string): Promise<Certificates> {
  const authority = await generate([{ name: "commonName", value: "Test authority" }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [
      { name: "basicConstraints", cA: true },
      { name: "keyUsage", keyCertSign: true },
    ],
  });
  const issue = (name: string, from: number, until: number, altName: typeof ADDRESS | typeof ELSEWHERE = ADDRESS) =>
    write(directory, name, authority, { from, until, altName });
  const authorityFile = join(directory, "authority.crt");
  await writeFile(authorityFile, authority.cert);
  return {
    authority: authorityFile,
    good: await issue("good", -DAY_MS, 90 * DAY_MS),
    expired: await issue("expired", -30 * DAY_MS, -HOUR_MS),
    soon: await issue("soon", -30 * DAY_MS, 3 * DAY_MS),
    foreign: await issue("foreign", -DAY_MS, 90 * DAY_MS, ELSEWHERE),
    own: await write(directory, "own", undefined, { from: -DAY_MS, until: 90 * DAY_MS, altName: ADDRESS }),
  };
}

type Terms = { from: number; until: number; altName: typeof ADDRESS | typeof ELSEWHERE };

async function write(
  directory: string,
  name: string,
  authority: GenerateResult | undefined,
  { from, until, altName }: Terms,
): Promise<CertificateFiles> {
  const made = await generate([{ name: "commonName", value: name }], {
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
  await writeFile(files.cert, made.cert);
  await writeFile(files.key, made.private);
  return files;
}
