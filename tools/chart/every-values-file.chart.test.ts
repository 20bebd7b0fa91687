import { readFile } from "node:fs/promises";
import { SERVICE_CLOSE_TIMEOUT_MS } from "@parley/service-kit/lifecycle";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { labelProblems } from "./assertions/labels.ts";
import { podSecurityProblems } from "./assertions/pod-security.ts";
import { portProblems } from "./assertions/ports.ts";
import { referenceProblems } from "./assertions/references.ts";
import { selectorProblems } from "./assertions/selectors.ts";
import { runHelm } from "./helm.ts";
import { nameOf, ofKind, workloads } from "./manifest.ts";
import { CHART, listValuesNames, type Rendered, renderChart, valuesFile } from "./render.ts";
import { findUnknownKeys } from "./unknown-keys.ts";
import { schemaProblems } from "./validate.ts";

const names = await listValuesNames();

describe.each(names)("the chart with %s values", (name) => {
  let rendered: Rendered;
  let values: unknown;
  beforeAll(async () => {
    rendered = await renderChart(name);
    values = parse(await readFile(valuesFile(name), "utf8"));
  });

  it("passes helm lint without warnings", async () => {
    const { code, output } = await runHelm("lint", CHART, "--strict", "--values", valuesFile(name));
    expect(code, output).toBe(0);
  });

  it("contains only objects that match Kubernetes' schemas", () => {
    expect(schemaProblems(rendered.manifests)).toEqual([]);
  });

  it("has no two objects with the same kind and name", () => {
    const all = rendered.manifests.map(nameOf);
    expect(all).toEqual([...new Set(all)]);
  });

  it("has only selectors that select a pod; only a PodMonitor may select pods of another component", () => {
    expect(selectorProblems(rendered.manifests)).toEqual([]);
  });

  it("gives every object and pod the standard labels, helm.sh/chart and the labels of commonLabels", () => {
    expect(labelProblems(rendered.manifests, values)).toEqual([]);
  });

  it("refers only to ports that a container listens on", () => {
    expect(portProblems(rendered.manifests)).toEqual([]);
  });

  it("uses only Secrets, ConfigMaps and ServiceAccounts that the chart creates or the values name, and only documented Secret keys", () => {
    expect(referenceProblems(rendered.manifests, values)).toEqual([]);
  });

  it("contains no Secret", () => {
    expect(ofKind(rendered.manifests, "Secret")).toEqual([]);
  });

  it("meets the restricted Pod Security Standard, has read-only root file systems, and mounts service account tokens only in pods with a Role", () => {
    expect(podSecurityProblems(rendered.manifests)).toEqual([]);
  });

  it("has a termination grace period longer than preStop, drain and shutdown together", () => {
    for (const { manifest, pod } of workloads(rendered.manifests)) {
      const [container] = pod.containers;
      const drain = container?.env?.find((entry) => entry.name === "DRAIN_MS")?.value;
      const stopMs = drain === undefined ? 0 : Number(drain) + SERVICE_CLOSE_TIMEOUT_MS;
      const { preStop } = (container?.lifecycle ?? {}) as { preStop?: { sleep: { seconds: number } } };
      const graceSeconds = pod.terminationGracePeriodSeconds ?? 30;
      expect(graceSeconds, nameOf(manifest)).toBeGreaterThan((preStop?.sleep.seconds ?? 0) + stopMs / 1_000);
    }
  });
});

it("renders only keys that Kubernetes knows, with every values file", async () => {
  const all = await Promise.all(names.map((name) => renderChart(name)));
  expect(await findUnknownKeys(all.flatMap(({ manifests }) => manifests))).toEqual([]);
});
