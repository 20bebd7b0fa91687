import { outsidePorts } from "./assertions/call-graph.ts";
import {
  type Container,
  componentOf,
  type EnvEntry,
  type Manifest,
  ofKind,
  type PodSpec,
  workloads,
} from "./manifest.ts";

export type Facts = ReturnType<typeof factsOf>;

/** Summarizes a rendered chart with one line for each kind of fact. */
export function factsOf(manifests: readonly Manifest[]) {
  const pods = workloads(manifests).map(({ pod }) => pod);
  const containers = pods.flatMap((pod) => pod.containers);
  return {
    /** Components with their replicas. */
    deployments: list(ofKind(manifests, "Deployment").map((each) => `${component(each)} ${each.spec.replicas}`)),
    /** Jobs and single pods, with their Helm hooks. */
    runs: list([...ofKind(manifests, "Job"), ...ofKind(manifests, "Pod")].map(run)),
    images: list(containers.map(({ image }) => image)),
    pods: list(pods.map(placement)),
    /** Targets of the startup, readiness and liveness probes. */
    probes: list(containers.flatMap(probes)),
    services: list(ofKind(manifests, "Service").map(service)),
    entrances: list(manifests.flatMap(entrance)),
    /** Components with a policy, and the ports outside the release that it opens. */
    networkPolicies: list(
      ofKind(manifests, "NetworkPolicy").map((policy) =>
        [component(policy), ...[...outsidePorts(manifests, component(policy))].sort(byNumber)].join(" "),
      ),
    ),
    disruptionBudgets: list(ofKind(manifests, "PodDisruptionBudget").map(component)),
    /** Servers and databases that the services and the migrations connect to. */
    databases: list(containers.flatMap(({ env = [] }) => env.flatMap(database))),
    /** Objects of all other kinds. */
    rest: list(manifests.flatMap(({ kind, metadata }) => (LISTED_KINDS.has(kind) ? [] : [`${kind} ${metadata.name}`]))),
  };
}

/** Kinds that `rest` omits: `factsOf` lists them elsewhere, except ServiceAccounts, which `referenceProblems` checks. */
const LISTED_KINDS: ReadonlySet<string> = new Set([
  ...["Deployment", "Job", "Pod", "Service", "Ingress", "HTTPRoute"],
  ...["NetworkPolicy", "PodDisruptionBudget", "ServiceAccount"],
]);

function list(items: readonly string[]): string {
  return [...new Set(items)].sort(byName).join(", ");
}

const byName = (a: string, b: string) => (a < b ? -1 : 1);
const byNumber = (a: number | string, b: number | string) => Number(a) - Number(b);

function component({ metadata }: Manifest): string {
  return componentOf(metadata.labels ?? {});
}

function run({ kind, metadata }: Manifest): string {
  return [kind, metadata.name, metadata.annotations?.["helm.sh/hook"] ?? "without hook"].join(" ");
}

const spread = ({ topologyKey }: { topologyKey: string }) => `over ${topologyKey}`;

function placement({ securityContext, topologySpreadConstraints = [] }: PodSpec): string {
  return [`user ${securityContext?.runAsUser ?? "of the platform"}`, ...topologySpreadConstraints.map(spread)].join(
    " ",
  );
}

function probes({ name, startupProbe, readinessProbe, livenessProbe }: Container): string[] {
  if (startupProbe === undefined) return [];
  const targets = [startupProbe, readinessProbe, livenessProbe].map((probe) => {
    const { httpGet, grpc } = (probe ?? {}) as { httpGet?: { port: string; path: string }; grpc?: { port: number } };
    return httpGet ? `${httpGet.port}${httpGet.path}` : grpc ? `grpc:${grpc.port}` : "nothing";
  });
  return [`${name} ${targets.join(" ")}`];
}

function service({ metadata, spec }: Manifest): string {
  const ports = (spec.ports as { name: string; port: number; targetPort: string }[]).map(
    ({ name, port, targetPort }) => `${name}:${port}${targetPort === name ? "" : `→${targetPort}`}`,
  );
  return [metadata.name, spec.clusterIP === "None" ? "headless" : spec.type, ...ports].join(" ");
}

function entrance({ kind, spec }: Manifest): string[] {
  if (kind === "Ingress") return [[kind, ...(spec.rules as { host: string }[]).map(({ host }) => host)].join(" ")];
  if (kind === "HTTPRoute") return [[kind, ...(spec.hostnames as string[])].join(" ")];
  return [];
}

function database({ name, value = "" }: EnvEntry): string[] {
  return name === "DATABASE_URL" ? [value.slice(value.indexOf("@") + 1)] : [];
}

/** Returns the environment variables by `component NAME`. For a value from a Secret the map has `secret/key`. */
export function variablesOf(manifests: readonly Manifest[]): Map<string, string> {
  const entries = workloads(manifests).flatMap(({ labels, pod }) =>
    pod.containers.flatMap(({ env = [] }) =>
      env.map(({ name, value, valueFrom }) => {
        const { name: secret, key } = valueFrom?.secretKeyRef ?? {};
        return [`${componentOf(labels)} ${name}`, value ?? `${secret}/${key}`] as const;
      }),
    ),
  );
  return new Map(entries);
}
