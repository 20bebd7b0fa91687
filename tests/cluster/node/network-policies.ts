// Enforces the cluster's NetworkPolicies on its only node: watches the policies, pods and namespaces, and writes nftables rules.
// Supports only the fields that the chart's policies use, and only IPv4. Exits when a watch ends.
//
//   network-policies.ts TOKEN
import { spawn } from "node:child_process";
import { once } from "node:events";
import { request } from "node:https";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";

type Labels = Partial<Record<string, string>>;
type Expression = { key: string; operator: "In" | "NotIn" | "Exists" | "DoesNotExist"; values?: string[] };
type Selector = { matchLabels?: Labels; matchExpressions?: Expression[] };
type Peer = {
  podSelector?: Selector;
  namespaceSelector?: Selector;
  ipBlock?: { cidr: string; except?: string[] };
};
type Port = { protocol?: string; port?: number | string; endPort?: number };
type Rule = { from?: Peer[]; to?: Peer[]; ports?: Port[] };
type Metadata = { name: string; namespace?: string; uid: string; labels?: Labels };
type Namespace = { metadata: Metadata };
type Pod = {
  metadata: Metadata;
  spec: { hostNetwork?: boolean; containers: { ports?: { name?: string; containerPort: number }[] }[] };
  status: { podIP?: string; phase?: string };
};
type Policy = {
  metadata: Metadata;
  spec: { podSelector: Selector; policyTypes: string[]; ingress?: Rule[]; egress?: Rule[] };
};
type Direction = "ingress" | "egress";

const API = "https://127.0.0.1:6443";
const DAY_SECONDS = 86_400;
/** All changes within this time cause one update of the rules. */
const COLLECT_MS = 20;

const [token = ""] = process.argv.slice(2);
const namespaces = new Map<string, Namespace>();
const pods = new Map<string, Pod>();
const policies = new Map<string, Policy>();
let changed = Promise.withResolvers<void>();

/** Keeps `objects` up to date. With resourceVersion 0, a watch starts with an event for each existing object. */
async function watch<T extends { metadata: Metadata }>(path: string, objects: Map<string, T>): Promise<never> {
  const watchRequest = request(`${API}${path}?watch=1&resourceVersion=0&timeoutSeconds=${DAY_SECONDS}`, {
    headers: { authorization: `Bearer ${token}` },
    rejectUnauthorized: false,
  });
  watchRequest.end();
  const [response] = await once(watchRequest, "response");
  for await (const line of createInterface({ input: response })) {
    const { type, object } = JSON.parse(line) as { type: string; object: T };
    if (type === "ERROR") throw new Error(line);
    if (type === "DELETED") objects.delete(object.metadata.uid);
    else objects.set(object.metadata.uid, object);
    changed.resolve();
  }
  throw new Error(`the watch of ${path} ended`);
}

function matches({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels = {}): boolean {
  return (
    Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
    matchExpressions.every(({ key, operator, values = [] }) => {
      const value = labels[key];
      if (operator === "Exists") return value !== undefined;
      if (operator === "DoesNotExist") return value === undefined;
      return (operator === "In") === (value !== undefined && values.includes(value));
    })
  );
}

/** Returns the running pods that have their own address. */
function podsWithAddress(): (Pod & { status: { podIP: string } })[] {
  const isRunningWithAddress = (pod: Pod): pod is Pod & { status: { podIP: string } } =>
    pod.status.podIP !== undefined &&
    pod.spec.hostNetwork !== true &&
    !["Succeeded", "Failed"].includes(pod.status.phase ?? "");
  return [...pods.values()].filter(isRunningWithAddress);
}

function podsOfPeer({ podSelector = {}, namespaceSelector }: Peer, policy: Policy) {
  const isInNamespace = (name: string | undefined) => {
    if (namespaceSelector === undefined) return name === policy.metadata.namespace;
    const namespace = [...namespaces.values()].find(({ metadata }) => metadata.name === name);
    return matches(namespaceSelector, namespace?.metadata.labels);
  };
  return podsWithAddress().filter(
    ({ metadata }) => isInNamespace(metadata.namespace) && matches(podSelector, metadata.labels),
  );
}

/** Returns the conditions on a packet's port. Looks up named ports in `pod`. */
function portConditions(ports: readonly Port[] | undefined, pod: Pod | undefined): string[] {
  if (ports === undefined || ports.length === 0) return [""];
  return ports.flatMap(({ protocol = "TCP", port, endPort }) => {
    const l4Protocol = protocol.toLowerCase();
    if (port === undefined) return [`meta l4proto ${l4Protocol}`];
    if (typeof port === "number") return [`${l4Protocol} dport ${endPort === undefined ? port : `${port}-${endPort}`}`];
    const named = pod?.spec.containers
      .flatMap((container) => container.ports ?? [])
      .filter((each) => each.name === port);
    return (named ?? []).map(({ containerPort }) => `${l4Protocol} dport ${containerPort}`);
  });
}

/** Returns the nftables conditions under which a rule permits a packet from or to `pod`. */
function conditionsOfRule(rule: Rule, policy: Policy, pod: Pod, direction: Direction): string[] {
  const address = `ip ${direction === "ingress" ? "saddr" : "daddr"}`;
  const peers = direction === "ingress" ? rule.from : rule.to;
  const destination = (peer: Pod | undefined) => (direction === "ingress" ? pod : peer);
  if (peers === undefined || peers.length === 0) return portConditions(rule.ports, destination(undefined));
  return peers.flatMap((peer) => {
    if (peer.ipBlock !== undefined) {
      const { cidr, except = [] } = peer.ipBlock;
      if (cidr.includes(":")) return [];
      const excluded = except.length === 0 ? "" : ` ${address} != { ${except.join(", ")} }`;
      return portConditions(rule.ports, destination(undefined)).map((port) => `${address} ${cidr}${excluded} ${port}`);
    }
    return podsOfPeer(peer, policy).flatMap((other) =>
      portConditions(rule.ports, destination(other)).map((port) => `${address} ${other.status.podIP} ${port}`),
    );
  });
}

/** Returns the nftables rules: one chain for each pod and direction that a policy isolates, and the jumps to these chains. */
function ruleset(): string {
  const chains: string[] = [];
  const jumps: Record<Direction, string[]> = { egress: [], ingress: [] };
  for (const pod of podsWithAddress()) {
    for (const [direction, type] of [
      ["egress", "Egress"],
      ["ingress", "Ingress"],
    ] as const) {
      const isolating = [...policies.values()].filter(
        ({ metadata, spec }) =>
          metadata.namespace === pod.metadata.namespace &&
          spec.policyTypes.includes(type) &&
          matches(spec.podSelector, pod.metadata.labels),
      );
      if (isolating.length === 0) continue;
      const permitted = isolating.flatMap((policy) =>
        (policy.spec[direction] ?? []).flatMap((rule) => conditionsOfRule(rule, policy, pod, direction)),
      );
      const chain = `${direction}_${pod.metadata.uid.replaceAll("-", "")}`;
      const returns = permitted.map((condition) => `${condition} return`);
      chains.push(`chain ${chain} { ${[...returns, "drop"].join("; ")}; }`);
      jumps[direction].push(`ip ${direction === "egress" ? "saddr" : "daddr"} ${pod.status.podIP} jump ${chain}`);
    }
  }
  const hook = (name: string, rules: readonly string[]) =>
    `chain ${name} { type filter hook ${name} priority filter; ct state established,related accept; ${rules.map((rule) => `${rule};`).join(" ")} }`;
  const table = "table ip network_policies";
  // The input chain applies to connections from pods to the node, which runs the name server and the API server. No chain applies to the node's
  // own connections, so the node may reach every pod.
  const body = [...chains, hook("input", jumps.egress), hook("forward", [...jumps.egress, ...jumps.ingress])];
  return `${table}\ndelete ${table}\n${table} {\n${body.join("\n")}\n}\n`;
}

async function enforce(): Promise<never> {
  for (;;) {
    await changed.promise;
    await sleep(COLLECT_MS);
    changed = Promise.withResolvers<void>();
    const nft = spawn("nft", ["--file", "-"], { stdio: ["pipe", "inherit", "inherit"] });
    nft.stdin.end(ruleset());
    const [code] = await once(nft, "exit");
    if (code !== 0) throw new Error("nft refused the rules");
  }
}

await Promise.race([
  watch("/api/v1/namespaces", namespaces),
  watch("/api/v1/pods", pods),
  watch("/apis/networking.k8s.io/v1/networkpolicies", policies),
  enforce(),
]);
