import { parseAllDocuments } from "yaml";

// These types describe only the fields of a Kubernetes document that the assertions read. validate.ts checks the whole document.
type StringMap = Partial<Record<string, string>>;
export type Labels = StringMap;

export type EnvEntry = {
  name: string;
  value?: string;
  valueFrom?: { secretKeyRef?: { name: string; key: string } };
};

export type Container = {
  name: string;
  image: string;
  env?: EnvEntry[];
  ports?: { name: string; containerPort: number; hostPort?: number }[];
  resources?: { requests?: StringMap; limits?: StringMap };
  securityContext?: {
    privileged?: boolean;
    allowPrivilegeEscalation?: boolean;
    readOnlyRootFilesystem?: boolean;
    runAsNonRoot?: boolean;
    runAsUser?: number;
    capabilities?: { add?: string[]; drop?: string[] };
    seccompProfile?: { type?: string };
    procMount?: string;
    seLinuxOptions?: object;
  };
  [field: string]: unknown;
};

export type PodSpec = {
  serviceAccountName?: string;
  automountServiceAccountToken?: boolean;
  enableServiceLinks?: boolean;
  hostNetwork?: boolean;
  hostPID?: boolean;
  hostIPC?: boolean;
  terminationGracePeriodSeconds?: number;
  securityContext?: {
    runAsNonRoot?: boolean;
    runAsUser?: number;
    seccompProfile?: { type?: string };
    sysctls?: object[];
    seLinuxOptions?: object;
  };
  dnsConfig?: object;
  topologySpreadConstraints?: { topologyKey: string }[];
  initContainers?: Container[];
  containers: Container[];
  volumes?: Volume[];
};

/** A key of a Secret or ConfigMap, and the path of its file in the volume. */
type Item = { key: string; path: string };

export type Volume = {
  name: string;
  secret?: { secretName: string; items?: Item[] };
  configMap?: { name: string };
  projected?: {
    sources: { secret?: { name: string; items?: Item[] }; configMap?: { name: string; items?: Item[] } }[];
  };
  [kind: string]: unknown;
};

export type Manifest = {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Labels; annotations?: StringMap };
  // biome-ignore lint/suspicious/noExplicitAny: its shape depends on the kind, and validate.ts checks it
  spec?: any;
  [field: string]: unknown;
};

/** The parsed documents by their text. */
const parsedDocuments = new Map<string, Manifest[]>();

/**
 * Parses the documents of a rendered chart. Throws on invalid YAML, including duplicate keys. Parses equal documents once, because most renders
 * differ in few documents, and parsing a chart takes as long as rendering it.
 */
export function parseManifests(text: string): Manifest[] {
  return text.split(/^---$/m).flatMap((document) => {
    const manifests = parsedDocuments.get(document) ?? parseDocuments(document);
    parsedDocuments.set(document, manifests);
    return manifests;
  });
}

function parseDocuments(text: string): Manifest[] {
  return parseAllDocuments(text, { uniqueKeys: true }).flatMap((document) => {
    if (document.errors[0] !== undefined) throw document.errors[0];
    const manifest = document.toJS() as Manifest | null;
    return manifest === null ? [] : [manifest];
  });
}

export function ofKind(manifests: readonly Manifest[], kind: string): Manifest[] {
  return manifests.filter((manifest) => manifest.kind === kind);
}

/** Returns the pod template of a Deployment, Job or Pod. */
export function podTemplate(manifest: Manifest): { labels: Labels; spec: PodSpec } | undefined {
  if (manifest.kind === "Pod") return { labels: manifest.metadata.labels ?? {}, spec: manifest.spec as PodSpec };
  if (manifest.kind !== "Deployment" && manifest.kind !== "Job") return undefined;
  const { metadata, spec } = manifest.spec.template as { metadata: { labels: Labels }; spec: PodSpec };
  return { labels: metadata.labels, spec };
}

/** Returns the Deployments, Jobs and Pods with their pod templates. */
export function workloads(manifests: readonly Manifest[]): { manifest: Manifest; labels: Labels; pod: PodSpec }[] {
  return manifests.flatMap((manifest) => {
    const template = podTemplate(manifest);
    return template === undefined ? [] : [{ manifest, labels: template.labels, pod: template.spec }];
  });
}

export function allContainers({ initContainers = [], containers }: PodSpec): Container[] {
  return [...initContainers, ...containers];
}

export function secretsOf({ secret, projected }: Volume): { name: string; items?: Item[] }[] {
  const mounted = secret && { name: secret.secretName, ...(secret.items && { items: secret.items }) };
  return [...(mounted ? [mounted] : []), ...(projected?.sources ?? []).flatMap((source) => source.secret ?? [])];
}

export function configMapNamesOf({ configMap, projected }: Volume): string[] {
  return [configMap, ...(projected?.sources ?? []).map((source) => source.configMap)].flatMap(
    (each) => each?.name ?? [],
  );
}

export function selects(selector: Labels, labels: Labels): boolean {
  return Object.entries(selector).every(([name, value]) => labels[name] === value);
}

export function nameOf({ kind, metadata }: Manifest): string {
  return `${kind} ${metadata.name}`;
}

export function componentOf(labels: Labels): string {
  return labels["app.kubernetes.io/component"] ?? "";
}
