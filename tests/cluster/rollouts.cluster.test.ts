import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBackends } from "./backends.ts";
import { createLoadCheck, describeStreams, timed } from "./checks.ts";
import { createInstallation, type Installation, type Tenant } from "./installation.ts";

// The tests run in order on one installation.
/** The preflight's test fails here, because the cluster has no identity provider: see typos.full.cluster.test.ts. */
const DOCTOR = ["--filter", "name=parley-doctor"];

describe("the chart on a real cluster", () => {
  let installation: Installation;
  let tenant: Tenant;
  let checkLoad: ReturnType<typeof createLoadCheck>;

  beforeAll(async () => {
    installation = await createInstallation();
    await timed("PostgreSQL, Redis and the provider start", startBackends);
  });
  afterAll(async () => {
    await installation.remove();
  });

  it("installs with a database administrator that has CREATEROLE and is not a superuser", async () => {
    await timed("install", async () => {
      await installation.prepare();
      await installation.runDocumented("cluster.md", "5. Install");
    });
    tenant = await installation.createTenant();
    checkLoad = createLoadCheck(installation, tenant);
  });

  it("replaces no pod in an upgrade without a change", async () => {
    const before = await installation.pods();
    await timed("upgrade without a change", () => installation.runDocumented("upgrades.md", ""));
    expect(await installation.pods()).toEqual(before);
  });

  it("passes helm test", async () => {
    await timed("helm test", async () => {
      const doctor = { publicKey: tenant.publicKey, origin: "https://www.example.com" };
      await installation.runDocumented("upgrades.md", "", { doctor });
      const output = await installation.helm("test", "parley", "--namespace", "parley", "--logs", ...DOCTOR);
      expect(output).toContain("ok    idle timeout    the stream survived a silence of 20 s");
    });
  });

  it("loses no stream in an upgrade that replaces every pod", async () => {
    const before = await installation.pods();
    const report = await timed(
      "upgrade under load",
      () =>
        installation.underLoad(tenant, async () => {
          const pod = { annotations: { "example.com/revision": "2" } };
          await installation.runDocumented("upgrades.md", "", { pod });
          await installation.waitForTerminatingPods();
        }),
      describeStreams,
    );
    expectReplaced(before, await installation.pods());
    await checkLoad(report);
  });

  it("loses no stream in a rollback", async () => {
    const before = await installation.pods();
    const report = await timed(
      "rollback under load",
      () =>
        installation.underLoad(tenant, async () => {
          await installation.runDocumented("upgrades.md", "Rolling back");
          await installation.waitForTerminatingPods();
        }),
      describeStreams,
    );
    expectReplaced(before, await installation.pods());
    await checkLoad(report);
  });

  it("leaves nothing after helm uninstall", async () => {
    await timed("uninstall", () => installation.runDocumented("upgrades.md", "Uninstalling"));
    expect(await installation.listObjects()).toEqual([]);
  });
});

type Pods = Awaited<ReturnType<Installation["pods"]>>;

/** Checks that each component has as many pods as before, and that every pod is new. */
function expectReplaced(before: Pods, after: Pods): void {
  const components = (pods: Pods) => pods.map(({ component }) => component).sort();
  expect(components(after)).toEqual(components(before));
  expect(after.filter(({ uid }) => before.some((old) => old.uid === uid))).toEqual([]);
}
