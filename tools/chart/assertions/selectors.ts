import { componentOf, type Labels, type Manifest, nameOf, ofKind, selects, workloads } from "../manifest.ts";

/** Selectors that select nothing, or something besides their own component's pods. */
export function selectorProblems(manifests: readonly Manifest[]): string[] {
  const pods = workloads(manifests);
  return selectors(manifests).flatMap(({ manifest, selector, own }) => {
    const selected = pods.filter(({ labels }) => selects(selector, labels));
    if (selected.length === 0) return [`${nameOf(manifest)} selects no pod`];
    const strangers = own ? selected.filter(({ labels }) => componentOf(labels) !== component(manifest)) : [];
    return strangers.map(({ manifest: other }) => `${nameOf(manifest)} selects the pods of ${nameOf(other)}`);
  });
}

type Selector = { manifest: Manifest; selector: Labels; own: boolean };

function selectors(manifests: readonly Manifest[]): Selector[] {
  return [
    ...ofKind(manifests, "Deployment").map((manifest) => ({
      manifest,
      selector: manifest.spec.selector.matchLabels as Labels,
      own: true,
    })),
    ...ofKind(manifests, "Service").map((manifest) => ({
      manifest,
      selector: manifest.spec.selector as Labels,
      own: true,
    })),
    ...ofKind(manifests, "PodDisruptionBudget").map((manifest) => ({
      manifest,
      selector: manifest.spec.selector.matchLabels as Labels,
      own: true,
    })),
    ...ofKind(manifests, "NetworkPolicy").map((manifest) => ({
      manifest,
      selector: manifest.spec.podSelector.matchLabels as Labels,
      own: true,
    })),
    ...ofKind(manifests, "PodMonitor").map((manifest) => ({
      manifest,
      selector: manifest.spec.selector.matchLabels as Labels,
      own: false,
    })),
  ];
}

function component(manifest: Manifest): string {
  return componentOf(manifest.metadata.labels ?? {});
}
