import { externalEgressPorts } from "./assertions/call-graph.ts";
import {
  type Container,
  componentOf,
  type EnvEntry,
  type Manifest,
  ofKind,
  type PodSpec,
  secretsOf,
  workloads,
} from "./manifest.ts";

export type ChartSummary = ReturnType<typeof summarizeChart>;

export function summarizeChart(manifests: readonly Manifest[]) {
  const pods = workloads(manifests).map(({ pod }) => pod);
  const containers = pods.flatMap((pod) => pod.containers);
  return {
    /** Components with their replicas; `autoscaled` if an autoscaler sets them. */
    deployments: formatList(
      ofKind(manifests, "Deployment").map(
        (each) => `${componentOfManifest(each)} ${each.spec.replicas ?? "autoscaled"}`,
      ),
    ),
    /** With their Helm hooks. */
    jobsAndPods: formatList([...ofKind(manifests, "Job"), ...ofKind(manifests, "Pod")].map(describeJobOrPod)),
    images: formatList(containers.map(({ image }) => image)),
    /** The user that each pod runs as, and the topology keys over which its replicas are spread. */
    pods: formatList(pods.map(describePod)),
    /** In the order startup, readiness, liveness. */
    probes: formatList(containers.flatMap(describeProbes)),
    services: formatList(ofKind(manifests, "Service").map(describeService)),
    hosts: formatList(manifests.flatMap(listHosts)),
    /** Components with a network policy, and the ports outside the release that the policy lets the component reach. */
    networkPolicies: formatList(
      ofKind(manifests, "NetworkPolicy").map((policy) =>
        [
          componentOfManifest(policy),
          ...[...externalEgressPorts(manifests, componentOfManifest(policy))].sort(byNumber),
        ].join(" "),
      ),
    ),
    disruptionBudgets: formatList(ofKind(manifests, "PodDisruptionBudget").map(componentOfManifest)),
    /** Servers and databases that the services and the migrations connect to. */
    databases: formatList(containers.flatMap(({ env = [] }) => env.flatMap(listDatabases))),
    /** Objects of all other kinds. */
    otherObjects: formatList(
      manifests.flatMap(({ kind, metadata }) => (OMITTED_KINDS.has(kind) ? [] : [`${kind} ${metadata.name}`])),
    ),
  };
}

/** `otherObjects` omits these kinds: the rest of the summary lists them, except ServiceAccounts, which `referenceProblems` checks. */
const OMITTED_KINDS: ReadonlySet<string> = new Set([
  ...["Deployment", "Job", "Pod", "Service", "Ingress", "HTTPRoute"],
  ...["NetworkPolicy", "PodDisruptionBudget", "ServiceAccount"],
]);

function formatList(items: readonly string[]): string {
  return [...new Set(items)].sort(byName).join(", ");
}

const byName = (a: string, b: string) => (a < b ? -1 : 1);
const byNumber = (a: number | string, b: number | string) => Number(a) - Number(b);

function componentOfManifest({ metadata }: Manifest): string {
  return componentOf(metadata.labels ?? {});
}

/** Replaces the hash in a Job's name, because it changes with every version. */
function describeJobOrPod({ kind, metadata }: Manifest): string {
  const name = metadata.name.replace(/-[0-9a-f]{8}$/, "-HASH");
  return [kind, name, metadata.annotations?.["helm.sh/hook"] ?? "without hook"].join(" ");
}

const describeSpread = ({ topologyKey }: { topologyKey: string }) => `over ${topologyKey}`;

function describePod({ securityContext, topologySpreadConstraints = [] }: PodSpec): string {
  return [
    `user ${securityContext?.runAsUser ?? "of the platform"}`,
    ...topologySpreadConstraints.map(describeSpread),
  ].join(" ");
}

type Probe = { httpGet?: { port: string; path: string }; grpc?: { port: number }; exec?: { command: string[] } };

function describeProbes({ name, startupProbe, readinessProbe, livenessProbe }: Container): string[] {
  const probes = [startupProbe, readinessProbe, livenessProbe] as (Probe | undefined)[];
  if (probes.every((probe) => probe === undefined)) return [];
  return [[name, ...probes.map(describeProbe)].join(" ")];
}

function describeProbe({ httpGet, grpc, exec }: Probe = {}): string {
  if (httpGet) return `${httpGet.port}${httpGet.path}`;
  if (grpc) return `grpc:${grpc.port}`;
  return exec ? `exec:${exec.command[0]}` : "nothing";
}

function describeService({ metadata, spec }: Manifest): string {
  const ports = (spec.ports as { name: string; port: number; targetPort: string }[]).map(
    ({ name, port, targetPort }) => `${name}:${port}${targetPort === name ? "" : `→${targetPort}`}`,
  );
  return [metadata.name, spec.clusterIP === "None" ? "headless" : spec.type, ...ports].join(" ");
}

function listHosts({ kind, spec }: Manifest): string[] {
  if (kind === "Ingress") return [[kind, ...(spec.rules as { host: string }[]).map(({ host }) => host)].join(" ")];
  if (kind === "HTTPRoute") return [[kind, ...(spec.hostnames as string[])].join(" ")];
  return [];
}

function listDatabases({ name, value = "" }: EnvEntry): string[] {
  return name === "DATABASE_URL" ? [value.slice(value.indexOf("@") + 1)] : [];
}

/**
 * Returns the value of each environment variable, with the key `component NAME`. If the value, or the file that it names, comes from a
 * Secret, returns `secret/key` instead. Leaves out the containers named "preflight", whose variables are some of the edge's.
 */
export function variablesOf(manifests: readonly Manifest[]): Map<string, string> {
  const entries = workloads(manifests).flatMap(({ labels, pod }) => {
    const files = secretFilesOf(pod);
    const containers = pod.containers.filter(({ name }) => name !== "preflight");
    return containers.flatMap(({ env = [] }) =>
      env.map(({ name, value = "", valueFrom }) => {
        const { name: secret, key } = valueFrom?.secretKeyRef ?? {};
        const text = secret === undefined ? (files.get(value) ?? value) : `${secret}/${key}`;
        return [`${componentOf(labels)} ${name}`, text] as const;
      }),
    );
  });
  return new Map(entries);
}

/** Returns the `secret/key` of each file in the volume "secret-files", by the file's path. */
function secretFilesOf({ volumes = [] }: PodSpec): Map<string, string> {
  const mounted = volumes.filter(({ name }) => name === "secret-files").flatMap(secretsOf);
  return new Map(
    mounted.flatMap(({ name, items = [] }) =>
      items.map(({ key, path }) => [`/etc/parley/secrets/${path}`, `${name}/${key}`] as const),
    ),
  );
}
