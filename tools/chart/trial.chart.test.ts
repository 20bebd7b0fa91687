import { appendFile, cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { runHelm } from "./helm.ts";
import { type Manifest, ofKind, parseManifests } from "./manifest.ts";
import { CHART, renderChart, valuesFile } from "./render.ts";

async function renderSetup(...sets: string[]) {
  return findSetup((await renderChart("trial", sets)).manifests);
}

function findSetup(manifests: readonly Manifest[]) {
  const job = ofKind(manifests, "Job").find(({ metadata }) => metadata.name.includes("-setup-")) as Manifest;
  return { name: job.metadata.name, spec: job.spec };
}

it.each([
  "edge.service.port=8080",
  "commonLabels.team=other",
  "image.pullSecrets[0]=registry",
  "trial.setup.resources.limits.memory=200Mi",
])(
  "gives the trial's setup Job a new name if %s is set, because Kubernetes does not permit changes of a Job",
  async (set) => {
    const [before, after] = [await renderSetup(), await renderSetup(set)];
    expect(after.spec).not.toEqual(before.spec);
    expect(after.name).not.toBe(before.name);
  },
);

it("gives the trial's setup Job the same name and spec if a changed value does not affect it", async () => {
  expect(await renderSetup("edge.replicas=3")).toEqual(await renderSetup());
});

it.each(["setup.mjs", "parley.md"])(
  "gives the trial's setup Job a new name if the file %s changes, because the Job must run again",
  async (file) => {
    const folder = await mkdtemp(join(tmpdir(), "parley-chart-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await cp(CHART, folder, { recursive: true });
    await appendFile(join(folder, "files/trial", file), "\n");
    const args = ["template", "parley", folder, "--namespace", "chat", "--values", valuesFile("trial")];
    const { code, output } = await runHelm(...args);
    expect(code, output).toBe(0);
    const [before, after] = [await renderSetup(), findSetup(parseManifests(output))];
    expect(after.spec).toEqual(before.spec);
    expect(after.name).not.toBe(before.name);
  },
);

it("mounts the script, the CA bundle and the extra volumes into the trial's setup Job", async () => {
  const { spec } = await renderSetup(
    "caBundle.existingConfigMap=authorities",
    "caBundle.containsOpsAuthority=true",
    "pod.extraVolumes[0].name=common,pod.extraVolumeMounts[0].name=common,pod.extraVolumeMounts[0].mountPath=/common",
  );
  const { containers, volumes } = spec.template.spec;
  expect(volumes).toEqual([
    { name: "setup", configMap: { name: "parley-trial-setup" } },
    { name: "ca-bundle", configMap: { name: "authorities", items: [{ key: "ca.crt", path: "ca.crt" }] } },
    { name: "common" },
  ]);
  expect(containers[0].volumeMounts).toEqual([
    { name: "setup", mountPath: "/setup", readOnly: true },
    { name: "ca-bundle", mountPath: "/etc/parley/ca-bundle", readOnly: true },
    { name: "common", mountPath: "/common" },
  ]);
});
