import { mkdtemp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type GenerateResult, generate } from "selfsigned";

export function createAuthority(name: string): Promise<GenerateResult> {
  return generate([{ name: "commonName", value: name }], {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [
      { name: "basicConstraints", cA: true },
      { name: "keyUsage", keyCertSign: true },
    ],
  });
}

/**
 * Writes a certificate for `hosts`, its key and the CA's certificate to a new directory in `folder`. The file names are the keys of a
 * cert-manager Secret. Returns the directory's path.
 */
export async function createCertificates(folder: string, ca: GenerateResult, ...hosts: string[]): Promise<string> {
  const certificate = await generate([{ name: "commonName", value: String(hosts[0]) }], {
    keyType: "ec",
    algorithm: "sha256",
    ca: { key: ca.private, cert: ca.cert },
    extensions: [
      { name: "extKeyUsage", serverAuth: true, clientAuth: true },
      { name: "subjectAltName", altNames: hosts.map((value) => ({ type: 2, value })) },
    ],
  });
  const directory = await mkdtemp(join(folder, "certificates-"));
  await writeFile(join(directory, "ca.crt"), ca.cert);
  await writeFile(join(directory, "tls.crt"), certificate.cert);
  await writeFile(join(directory, "tls.key"), certificate.private);
  return directory;
}
