import { expect, it } from "vitest";
import { type Manifest, ofKind } from "./manifest.ts";
import { renderChart } from "./render.ts";

/** Renders the trial's setup Job. */
async function renderSetup(...sets: string[]) {
  const { manifests } = await renderChart("trial", sets);
  const job = ofKind(manifests, "Job").find(({ metadata }) => metadata.name.includes("-setup-")) as Manifest;
  return { name: job.metadata.name, spec: job.spec };
}

it.each([
  "edge.service.port=8080",
  "commonLabels.team=other",
  "image.pullSecrets[0]=registry",
  "trial.setup.resources.limits.memory=200Mi",
])(
  "gives the trial's setup Job another name with %s, because Kubernetes does not permit changes of a Job",
  async (set) => {
    const [before, after] = [await renderSetup(), await renderSetup(set)];
    expect(after.spec).not.toEqual(before.spec);
    expect(after.name).not.toBe(before.name);
  },
);

it("keeps the trial's setup Job with changed values that do not affect it", async () => {
  expect(await renderSetup("edge.replicas=3")).toEqual(await renderSetup());
});
