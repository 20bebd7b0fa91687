import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Manifest, parseManifests } from "../../tools/chart/manifest.ts";
import { startBackends } from "./backends.ts";
import { createLoadCheck, describeStreams, timed } from "./checks.ts";
import { run } from "./commands.ts";
import { createInstallation, type Installation, type Tenant } from "./installation.ts";

const NAMESPACE = ["--namespace", "parley"];
const ROLLOUT_TIMEOUT_MS = 540_000;

/**
 * kubectl prints "configured" for a disruption budget in each run, although the object does not change: the selector's patch strategy is
 * `replace`, so kubectl always sends the selector.
 */
const ALWAYS_CONFIGURED = /^poddisruptionbudget\.policy\/\S+ configured$/;

/** With `applyFlags`, `kubectl apply` and `kubectl diff` write and compare objects as the tool does. */
type Tool = { name: string; applyFlags: readonly string[] };

const ARGO_CD: Tool = { name: "Argo CD", applyFlags: [] };
const ARGO_CD_SERVER_SIDE: Tool = {
  name: "Argo CD with ServerSideApply",
  applyFlags: ["--server-side", "--field-manager=argocd-controller", "--force-conflicts"],
};
/** Flux's helm-controller detects drift with the dry run of a server-side apply. */
const FLUX: Tool = {
  name: "Flux",
  applyFlags: ["--server-side", "--field-manager=helm-controller", "--force-conflicts"],
};

const annotationsOf = ({ metadata }: Manifest) => metadata.annotations ?? {};
const argoHook = (manifest: Manifest) => annotationsOf(manifest)["argocd.argoproj.io/hook"];
const waveOf = (manifest: Manifest) => Number(annotationsOf(manifest)["argocd.argoproj.io/sync-wave"] ?? 0);
const listOf = (items: readonly Manifest[]) => JSON.stringify({ apiVersion: "v1", kind: "List", items });

function kubectl(command: readonly string[], manifests: readonly Manifest[]): Promise<string> {
  const options = { stdin: listOf(manifests), timeoutMs: ROLLOUT_TIMEOUT_MS };
  return run("kubectl", [...NAMESPACE, ...command, "--filename", "-"], options);
}

/** Renders the chart without access to the cluster, as Argo CD does. */
async function render(installation: Installation): Promise<{ hooks: Manifest[]; resources: Manifest[] }> {
  const manifests = parseManifests(
    await installation.helm("template", "parley", "charts/parley", ...NAMESPACE, "--values", "values.yaml"),
  );
  const isHelmTest = (manifest: Manifest) => annotationsOf(manifest)["helm.sh/hook"] === "test";
  const hooks = manifests.filter((manifest) => argoHook(manifest) !== undefined);
  const resources = manifests.filter((manifest) => !hooks.includes(manifest) && !isHelmTest(manifest));
  return { hooks, resources };
}

/** Syncs as Argo CD does: applies the hooks by wave, deletes them, and applies the resources. Returns kubectl's line for each resource. */
async function sync(installation: Installation, { applyFlags }: Tool): Promise<string[]> {
  const { hooks, resources } = await render(installation);
  expect(new Set(hooks.map(argoHook))).toEqual(new Set(["PreSync"]));
  await kubectl(["delete", "--ignore-not-found"], hooks);
  for (const wave of [...new Set(hooks.map(waveOf))].sort((a, b) => a - b)) {
    await kubectl(
      ["apply"],
      hooks.filter((hook) => waveOf(hook) === wave),
    );
  }
  await installation.kubectl("wait", "--for=condition=Complete", "job/parley-migrations", "--timeout=170s");
  await kubectl(["delete"], hooks);
  const printed = await kubectl(["apply", ...applyFlags], resources);
  const deployments = resources.filter(({ kind }) => kind === "Deployment");
  await kubectl(["rollout", "status", "--timeout=530s"], deployments);
  await installation.waitForTerminatingPods();
  return printed.trim().split("\n");
}

/** Reads the objects from the cluster. A generation changes with the object's spec. */
async function readLiveObjects(installation: Installation, resources: readonly Manifest[]): Promise<object[]> {
  const names = resources.map(({ kind, metadata }) => `${kind}/${metadata.name}`);
  const { items } = JSON.parse(await installation.kubectl("get", ...names, "--output=json")) as {
    items: { metadata: { name: string; uid: string; generation?: number }; kind: string }[];
  };
  return items.map(({ kind, metadata: { name, uid, generation } }) => ({ kind, name, uid, generation }));
}

// The tests run in order on one installation.
describe("GitOps tools on a real cluster", () => {
  let installation: Installation;
  let tenant: Tenant;
  let checkLoad: ReturnType<typeof createLoadCheck>;

  beforeAll(async () => {
    installation = await createInstallation();
    await startBackends();
    await installation.prepare();
    await installation.writeValues();
    await timed("first sync as Argo CD", () => sync(installation, ARGO_CD));
    tenant = await installation.createTenant();
    checkLoad = createLoadCheck(installation, tenant);
  });
  afterAll(async () => {
    await installation.remove();
  });

  it.each([ARGO_CD, ARGO_CD_SERVER_SIDE])("$name: a second sync changes nothing and cuts no stream", async (tool) => {
    const { resources } = await render(installation);
    // If another tool synced before, this sync takes over that tool's fields.
    await sync(installation, tool);
    const before = await readLiveObjects(installation, resources);
    const podsBefore = await installation.pods();
    let printed: string[] = [];
    const report = await timed(
      `second sync as ${tool.name} under load`,
      () =>
        installation.underLoad(tenant, async () => {
          printed = await sync(installation, tool);
          // Prolongs the load: the check needs more than 50 streams, and a sync that changes nothing takes only seconds.
          await sleep(10_000);
        }),
      describeStreams,
    );
    if (tool.applyFlags.length === 0) {
      const changed = printed.filter((line) => !line.endsWith(" unchanged"));
      expect(changed.filter((line) => !ALWAYS_CONFIGURED.test(line))).toEqual([]);
    }
    // Exits 1 if there is a difference.
    await kubectl(["diff", ...tool.applyFlags], resources);
    expect(await readLiveObjects(installation, resources)).toEqual(before);
    expect(await installation.pods()).toEqual(podsBefore);
    await checkLoad(report);
  });

  it("Argo CD with ServerSideApply: a sync of a change replaces every pod and cuts no stream", async () => {
    const before = (await installation.pods()).map(({ uid }) => uid);
    await installation.writeValues({ pod: { annotations: { "example.com/revision": "2" } } });
    const report = await timed(
      "sync of a change as Argo CD with ServerSideApply under load",
      () => installation.underLoad(tenant, () => sync(installation, ARGO_CD_SERVER_SIDE).then(() => undefined)),
      describeStreams,
    );
    expect((await installation.pods()).filter(({ uid }) => before.includes(uid))).toEqual([]);
    await checkLoad(report);
  });

  it("Flux: two releases take over the objects, leave no drift and cut no stream", async () => {
    const command = ["upgrade", "--install", "parley", "charts/parley", ...NAMESPACE, "--values", "values.yaml"];
    const flags = ["--take-ownership", "--force-conflicts", "--wait", "--timeout", "8m"];
    const report = await timed(
      "two releases as Flux under load",
      () =>
        installation.underLoad(tenant, async () => {
          await installation.helm(...command, ...flags);
          await installation.helm(...command, "--wait", "--timeout", "8m");
          await installation.waitForTerminatingPods();
        }),
      describeStreams,
    );
    const manifests = parseManifests(await installation.helm("get", "manifest", "parley", ...NAMESPACE));
    await kubectl(["diff", ...FLUX.applyFlags], manifests);
    await checkLoad(report);
  });
});
