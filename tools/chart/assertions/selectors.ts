import { componentOf, type Labels, type Manifest, nameOf, ofKind, selects, workloads } from "../manifest.ts";

/** Reports each selector that selects no pod or, except in a PodMonitor, selects pods of another component. */
export function selectorProblems(manifests: readonly Manifest[]): string[] {
  const pods = workloads(manifests);
  return selectors(manifests).flatMap(({ manifest, selector, isLimitedToComponent }) => {
    const selected = pods.filter(({ labels }) => selects(selector, labels));
    if (selected.length === 0) return [`${nameOf(manifest)} selects no pod`];
    const others = isLimitedToComponent
      ? selected.filter(({ labels }) => componentOf(labels) !== componentOfManifest(manifest))
      : [];
    return others.map(({ manifest: other }) => `${nameOf(manifest)} selects the pods of ${nameOf(other)}`);
  });
}

type Selector = {
  manifest: Manifest;
  selector: Labels;
  /** Whether it is a problem if the selector selects pods of another component. */
  isLimitedToComponent: boolean;
};

function selectors(manifests: readonly Manifest[]): Selector[] {
  const selectorsOf = (kind: string, selectorOf: (spec: Manifest["spec"]) => Labels, isLimitedToComponent = true) =>
    ofKind(manifests, kind).map((manifest) => ({
      manifest,
      selector: selectorOf(manifest.spec),
      isLimitedToComponent,
    }));
  return [
    ...selectorsOf("Deployment", ({ selector }) => selector.matchLabels),
    ...selectorsOf("Service", ({ selector }) => selector),
    ...selectorsOf("PodDisruptionBudget", ({ selector }) => selector.matchLabels),
    ...selectorsOf("NetworkPolicy", ({ podSelector }) => podSelector.matchLabels),
    ...selectorsOf("PodMonitor", ({ selector }) => selector.matchLabels, false),
  ];
}

function componentOfManifest(manifest: Manifest): string {
  return componentOf(manifest.metadata.labels ?? {});
}
