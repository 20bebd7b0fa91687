import { BlockList, isIPv6 } from "node:net";
import { componentOf, type Labels, type Manifest, ofKind } from "../manifest.ts";

/** The connections between the release's components, as `caller → callee:port`. */
export const CALL_GRAPH: ReadonlySet<string> = new Set([
  "edge → conversation:grpc",
  "edge → quota:grpc",
  "edge → llm-proxy:grpc",
  "edge → edge:rpc",
  "conversation → quota:grpc",
  "conversation → llm-proxy:grpc",
  "cli → edge:ops",
  "cli → conversation:ops",
  "cli → quota:ops",
  "cli → llm-proxy:ops",
]);

/** The additional connections with `console.enabled`. */
export const CONSOLE_CALLS: readonly string[] = [
  "console → conversation:ops",
  "console → quota:ops",
  "console → edge:http",
];

/** The additional connections with `trial.enabled`. */
export const TRIAL_CALLS: readonly string[] = [
  ...["conversation", "quota", "llm-proxy", "migrations"].map((caller) => `${caller} → trial-postgres:postgres`),
  ...["edge", "conversation", "quota", "llm-proxy"].map((callee) => `trial-setup → ${callee}:ops`),
];

/**
 * The components whose policy has an egress rule for 0.0.0.0/0 without the private ranges, if the values set no egress proxy. The doctor and a
 * trial's setup Job are not listed: they have rules without peers, which allow all egress.
 */
export const INTERNET_COMPONENTS: ReadonlySet<string> = new Set(["conversation", "llm-proxy"]);

const DNS_PORT = 53;

type Rule = {
  to?: Peer[];
  from?: Peer[];
  ports?: { port: number | string; protocol?: string }[];
};
type Peer = {
  podSelector?: { matchLabels?: Labels };
  namespaceSelector?: object;
  ipBlock?: { cidr: string; except?: string[] };
};

/**
 * Returns the calls that the egress rules allow, and those that the ingress rules allow, in the format of CALL_GRAPH. Both sets must equal
 * CALL_GRAPH plus the additional connections that the values enable.
 */
export function allowedCalls(manifests: readonly Manifest[]): { egress: Set<string>; ingress: Set<string> } {
  const egress = new Set<string>();
  const ingress = new Set<string>();
  for (const { metadata, spec } of ofKind(manifests, "NetworkPolicy")) {
    const component = componentOf(metadata.labels ?? {});
    for (const { to = [], ports = [] } of (spec.egress ?? []) as Rule[])
      for (const callee of componentsOf(to))
        for (const { port } of ports) egress.add(`${component} → ${callee}:${port}`);
    for (const { from = [], ports = [] } of (spec.ingress ?? []) as Rule[])
      for (const caller of componentsOf(from))
        for (const { port } of ports) ingress.add(`${caller} → ${component}:${port}`);
  }
  return { egress, ingress };
}

/** Returns the components whose policy has an egress rule for 0.0.0.0/0. Ignores rules without peers, which also allow every address. */
export function componentsWithInternetRule(manifests: readonly Manifest[]): Set<string> {
  const policies = ofKind(manifests, "NetworkPolicy").filter(({ spec }) =>
    ((spec.egress ?? []) as Rule[]).some(({ to = [] }) => to.some(({ ipBlock }) => ipBlock?.cidr === "0.0.0.0/0")),
  );
  return new Set(policies.map(({ metadata }) => componentOf(metadata.labels ?? {})));
}

/** Returns the ports that a component may reach outside the release, except DNS; `any` for a rule without ports. */
export function externalEgressPorts(manifests: readonly Manifest[], component: string): Set<number | string> {
  const policy = ofKind(manifests, "NetworkPolicy").find(
    ({ metadata }) => componentOf(metadata.labels ?? {}) === component,
  );
  const external = ((policy?.spec.egress ?? []) as Rule[]).filter(({ to = [] }) => componentsOf(to).length === 0);
  const ports = external.flatMap((rule) => rule.ports?.map(({ port }) => port) ?? ["any"]);
  return new Set(ports.filter((port) => port !== DNS_PORT));
}

/** Returns whether a component's policy permits egress to a TCP port of an address outside the cluster. */
export function permitsEgress(
  manifests: readonly Manifest[],
  component: string,
  address: string,
  port: number,
): boolean {
  const policy = ofKind(manifests, "NetworkPolicy").find(
    ({ metadata }) => componentOf(metadata.labels ?? {}) === component,
  );
  return ((policy?.spec.egress ?? []) as Rule[]).some(
    ({ to = [], ports }) =>
      (ports ?? [{ port }]).some((each) => each.port === port && each.protocol !== "UDP") &&
      (to.length === 0 || to.some(({ ipBlock }) => ipBlock !== undefined && containsAddress(ipBlock, address))),
  );
}

/** Returns the network blocks of a component's egress rules. */
export function egressBlocks(manifests: readonly Manifest[], component: string): { cidr: string; except: string[] }[] {
  return ofKind(manifests, "NetworkPolicy")
    .filter(({ metadata }) => componentOf(metadata.labels ?? {}) === component)
    .flatMap(({ spec }) => (spec.egress ?? []) as Rule[])
    .flatMap(({ to = [] }) => to.flatMap(({ ipBlock }) => (ipBlock ? [{ except: [], ...ipBlock }] : [])));
}

function containsAddress({ cidr, except = [] }: { cidr: string; except?: string[] }, address: string): boolean {
  return createBlockList([cidr]).contains(address) && !createBlockList(except).contains(address);
}

/** Returns a set of networks. */
export function createBlockList(cidrs: readonly string[]): { contains: (address: string) => boolean } {
  const list = new BlockList();
  for (const cidr of cidrs) {
    const [network = "", bits] = cidr.split("/");
    list.addSubnet(network, Number(bits), isIPv6(network) ? "ipv6" : "ipv4");
  }
  return { contains: (address) => list.check(address, isIPv6(address) ? "ipv6" : "ipv4") };
}

/** Returns the release's components among the peers of a rule. */
function componentsOf(peers: readonly Peer[]): string[] {
  return peers.flatMap(({ podSelector }) => {
    const component = podSelector?.matchLabels && componentOf(podSelector.matchLabels);
    return component ? [component] : [];
  });
}
