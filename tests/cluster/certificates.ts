import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type createAuthority, createCertificates } from "@parley/service-kit/testing";
import { parseAllDocuments } from "yaml";
import { run } from "./commands.ts";
import type { Installation } from "./installation.ts";

export type Authority = Awaited<ReturnType<typeof createAuthority>>;

/** Reads the host names of each certificate from the chart's manifests for cert-manager, by the name of the certificate's Secret. */
async function listHosts(installation: Installation): Promise<[secretName: string, hosts: string[]][]> {
  await installation.writeValues({ mtls: { enabled: true, opsPorts: true, issuerRef: { name: "any" } } });
  const release = ["parley", "charts/parley", "--namespace", "parley", "--values", "values.yaml"];
  const certificates = ["--show-only", "templates/tls/certificates.yaml"];
  const manifests = parseAllDocuments(await installation.helm("template", ...release, ...certificates));
  return manifests.map((manifest) => {
    const { secretName, dnsNames } = (manifest.toJS() as { spec: { secretName: string; dnsNames: string[] } }).spec;
    return [secretName, dnsNames];
  });
}

/** Writes the services' certificates of an authority into the Secrets, as an operator without cert-manager does. Overwrites values.yaml. */
export async function writeCertificates(installation: Installation, authority: Authority): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "parley-certificates-"));
  try {
    for (const [secretName, hosts] of await listHosts(installation)) {
      const files = await createCertificates(folder, authority, ...hosts);
      const sources = ["ca.crt", "tls.crt", "tls.key"].map((file) => `--from-file=${join(files, file)}`);
      const create = ["create", "secret", "generic", secretName, ...sources, "--dry-run=client", "--output=json"];
      await run("kubectl", ["apply", "--filename", "-"], { stdin: await installation.kubectl(...create) });
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}
