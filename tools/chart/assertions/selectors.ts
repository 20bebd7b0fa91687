import { componentOf, type Labels, type Manifest, nameOf, ofKind, selects, workloads } from "../manifest.ts";

/** Reports each selector that selects no pod, or that selects pods of another component. */
export function selectorProblems(manifests: readonly Manifest[]): string[] {
  const pods = workloads(manifests);
  return selectors(manifests).flatMap(({ manifest, selector, selectsOneComponent }) => {
    const selected = pods.filter(({ labels }) => selects(selector, labels));
    if (selected.length === 0) return [`${nameOf(manifest)} selects no pod`];
    const others = selectsOneComponent
      ? selected.filter(({ labels }) => componentOf(labels) !== component(manifest))
      : [];
    return others.map(({ manifest: other }) => `${nameOf(manifest)} selects the pods of ${nameOf(other)}`);
  });
}

type Selector = {
  manifest: Manifest;
  selector: Labels;
  /** Whether the selector may select only the pods of its own component. */
  selectsOneComponent: boolean;
};

function selectors(manifests: readonly Manifest[]): Selector[] {
  const selectorsOf = (kind: string, selectorOf: (spec: Manifest["spec"]) => Labels, selectsOneComponent = true) =>
    ofKind(manifests, kind).map((manifest) => ({ manifest, selector: selectorOf(manifest.spec), selectsOneComponent }));
  return [
    ...selectorsOf("Deployment", ({ selector }) => selector.matchLabels),
    ...selectorsOf("Service", ({ selector }) => selector),
    ...selectorsOf("PodDisruptionBudget", ({ selector }) => selector.matchLabels),
    ...selectorsOf("NetworkPolicy", ({ podSelector }) => podSelector.matchLabels),
    ...selectorsOf("PodMonitor", ({ selector }) => selector.matchLabels, false),
  ];
}

function component(manifest: Manifest): string {
  return componentOf(manifest.metadata.labels ?? {});
}
