import { setTimeout as sleep } from "node:timers/promises";
import { createAuthority } from "@parley/service-kit/testing";
import { afterAll, beforeAll, describe, it } from "vitest";
import { startBackends } from "./backends.ts";
import { type Authority, writeCertificates } from "./certificates.ts";
import { createLoadCheck, describeStreams, timed } from "./checks.ts";
import { run } from "./commands.ts";
import { createInstallation, type Installation, type Tenant } from "./installation.ts";

const MTLS = { enabled: true, certManager: false, opsPorts: true };
const TRUSTED_CONFIG_MAP = "authorities";
/** The documented wait until every pod has read a changed Secret or ConfigMap. */
const RELOAD_MS = 120_000;

describe("the services' certificate authority on a real cluster", () => {
  let installation: Installation;
  let tenant: Tenant;
  let oldAuthority: Authority;

  beforeAll(async () => {
    installation = await createInstallation();
    await startBackends();
    await installation.prepare();
    oldAuthority = await createAuthority("Old");
    await writeCertificates(installation, oldAuthority);
    await installation.runDocumented("cluster.md", "5. Install", { mtls: MTLS });
    tenant = await installation.createTenant();
  });
  afterAll(async () => {
    await installation.remove();
  });

  const apply = (manifest: unknown) =>
    run("kubectl", ["apply", "--filename", "-"], { stdin: JSON.stringify(manifest) });

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
    const audit = () => installation.parley("usage-audit", "--check");
    const report = await timed(
      "replacement of the certificate authority under load",
      () =>
        installation.underLoad(tenant, async () => {
          await trust(oldAuthority, newAuthority);
          const mtls = { ...MTLS, trustedAuthorities: { existingConfigMap: TRUSTED_CONFIG_MAP } };
          await installation.runDocumented("upgrades.md", "", { mtls });
          await installation.waitForTerminatingPods();
          await audit();
          await writeCertificates(installation, newAuthority);
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
