import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createAuthority, createCertificates } from "@parley/service-kit/testing";
import { afterAll, beforeAll, describe, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { startBackends } from "./backends.ts";
import { createLoadCheck, describeStreams, timed } from "./checks.ts";
import { run } from "./commands.ts";
import { createInstallation, type Installation, type Tenant } from "./installation.ts";

type Authority = Awaited<ReturnType<typeof createAuthority>>;

const MTLS = { enabled: true, certManager: false, opsPorts: true };
const TRUSTED_CONFIG_MAP = "authorities";
/** The documented wait until every pod has read a changed Secret or ConfigMap. */
const RELOAD_MS = 120_000;

describe("the services' certificate authority on a real cluster", () => {
  let installation: Installation;
  let tenant: Tenant;
  let folder: string;
  /** The host names of each certificate, by the name of the certificate's Secret. */
  let hostsBySecret: Map<string, string[]>;
  let oldAuthority: Authority;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "parley-certificates-"));
    installation = await createInstallation();
    await startBackends();
    await installation.prepare();
    hostsBySecret = await listHosts();
    oldAuthority = await createAuthority("Old");
    await writeCertificates(oldAuthority);
    await installation.runDocumented("cluster.md", "5. Install", { mtls: MTLS });
    tenant = await installation.createTenant();
  });
  afterAll(async () => {
    await installation.remove();
    await rm(folder, { recursive: true });
  });

  /** Reads the host names from the chart's manifests for cert-manager. */
  async function listHosts(): Promise<Map<string, string[]>> {
    await installation.writeValues({ mtls: { enabled: true, opsPorts: true, issuerRef: { name: "any" } } });
    const options = [
      "--namespace",
      "parley",
      "--values",
      "values.yaml",
      "--show-only",
      "templates/tls/certificates.yaml",
    ];
    const manifests = parseAllDocuments(await installation.helm("template", "parley", "charts/parley", ...options));
    return new Map(
      manifests.map((manifest) => {
        const { secretName, dnsNames } = (manifest.toJS() as { spec: { secretName: string; dnsNames: string[] } }).spec;
        return [secretName, dnsNames];
      }),
    );
  }

  const apply = (manifest: unknown) =>
    run("kubectl", ["apply", "--filename", "-"], { stdin: JSON.stringify(manifest) });

  /** Writes the certificates of an authority into the Secrets, as an operator without cert-manager does. */
  async function writeCertificates(authority: Authority): Promise<void> {
    for (const [secretName, hosts] of hostsBySecret) {
      const files = await createCertificates(folder, authority, ...hosts);
      const sources = ["ca.crt", "tls.crt", "tls.key"].map((file) => `--from-file=${join(files, file)}`);
      const create = ["create", "secret", "generic", secretName, ...sources, "--dry-run=client", "--output=json"];
      await apply(JSON.parse(await installation.kubectl(...create)));
    }
  }

  /** Writes the authorities that the services trust into the ConfigMap. */
  function trust(...authorities: Authority[]): Promise<string> {
    const data = { "ca.crt": authorities.map(({ cert }) => cert).join("\n") };
    return apply({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: TRUSTED_CONFIG_MAP, namespace: "parley" },
      data,
    });
  }

  it("is replaced without a failed stream, and the cli pod reaches conversation's ops port after each step", async () => {
    const newAuthority = await createAuthority("New");
    /** Runs in the cli pod and calls conversation's ops port. */
    const audit = () => installation.parley("audit", "--check");
    const report = await timed(
      "replacement of the certificate authority under load",
      () =>
        installation.underLoad(tenant, async () => {
          await trust(oldAuthority, newAuthority);
          const mtls = { ...MTLS, trustedAuthorities: { existingConfigMap: TRUSTED_CONFIG_MAP } };
          await installation.runDocumented("upgrades.md", "", { mtls });
          await installation.waitForTerminatingPods();
          await audit();
          await writeCertificates(newAuthority);
          await sleep(RELOAD_MS);
          await audit();
          await trust(newAuthority);
          await sleep(RELOAD_MS);
          await audit();
          // New pods trust only the new authority, so they connect only to services with new certificates.
          await installation.restart("edge", "conversation");
        }),
      describeStreams,
    );
    await createLoadCheck(installation, tenant)(report);
  });
});
