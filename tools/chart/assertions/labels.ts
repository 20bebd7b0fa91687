import { type Labels, type Manifest, nameOf, workloads } from "../manifest.ts";

/** Labels that Kubernetes recommends. */
const STANDARD = ["name", "instance", "component", "version", "part-of", "managed-by"].map(
  (label) => `app.kubernetes.io/${label}`,
);

/** Reports objects and pods that lack a standard label, `helm.sh/chart`, or a label from `commonLabels` in the values. */
export function labelProblems(manifests: readonly Manifest[], values: unknown): string[] {
  const { commonLabels = {} } = values as { commonLabels?: Labels };
  const required = [...STANDARD, "helm.sh/chart", ...Object.keys(commonLabels)];
  const lacking = (name: string, labels: Labels = {}) =>
    required.filter((label) => !labels[label]).map((label) => `${name} has no label ${label}`);
  return [
    ...manifests.flatMap((manifest) => lacking(nameOf(manifest), manifest.metadata.labels)),
    ...workloads(manifests).flatMap(({ manifest, labels }) => lacking(`the pod of ${nameOf(manifest)}`, labels)),
  ];
}
