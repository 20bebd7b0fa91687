import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { countReplies, createLoadCheck, describeStreams, timed } from "./checks.ts";
import { run } from "./commands.ts";
import { type Installation, install, type Tenant } from "./installation.ts";

/** Long enough for the kernel's second attempt to connect, which follows the first one after a second. */
const CONNECT_TIMEOUT_MS = 4_000;

/** Ports of Parley's pods, by component and name. */
const PORTS = {
  "edge http": 8080,
  "edge ops": 8081,
  "edge rpc": 8088,
  "conversation grpc": 8082,
  "conversation ops": 8083,
  "quota grpc": 8084,
  "quota ops": 8085,
  "llm-proxy grpc": 8086,
  "llm-proxy ops": 8087,
};
/** Other pods. The llm-proxy's and the conversation service's rules for the internet exclude them, because their addresses are private. */
const OTHERS = {
  PostgreSQL: { namespace: "backends", app: "postgres", port: 5432 },
  Redis: { namespace: "redis", app: "redis", port: 6379 },
  "the provider": { namespace: "backends", app: "provider", port: 9999 },
  "another pod's port 443": { namespace: "backends", app: "visitors", port: 443 },
};
/** A Service with port 443. Network policies see the API server's own port, 6443, which no component may reach. */
const API_SERVER = "the API server";

/** The permitted connections of each pod. The edge may reach port 443 of any address, because the identity provider may have any address. */
const PERMITTED: Record<string, string[]> = {
  edge: ["edge rpc", "conversation grpc", "quota grpc", "llm-proxy grpc", "Redis", "another pod's port 443"],
  conversation: ["quota grpc", "llm-proxy grpc", "PostgreSQL"],
  quota: ["PostgreSQL"],
  "llm-proxy": ["PostgreSQL", "the provider"],
  cli: ["edge ops", "conversation ops", "quota ops", "llm-proxy ops"],
  "a foreign pod in Parley's namespace": ["edge http", ...Object.keys(OTHERS), API_SERVER],
  "a foreign pod in another namespace": ["edge http", ...Object.keys(OTHERS), API_SERVER],
};

/** A pod that the Pod Security Standard "restricted" permits and that none of the chart's policies selects. */
const FOREIGN_POD = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "foreign", namespace: "parley" },
  spec: {
    automountServiceAccountToken: false,
    terminationGracePeriodSeconds: 1,
    securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: "RuntimeDefault" } },
    containers: [
      {
        name: "foreign",
        image: "node:24-bookworm-slim",
        command: ["sleep", "infinity"],
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
      },
    ],
  },
};

/** Prints a JSON array with those of its arguments (HOST:PORT) that accept a connection. */
const CONNECT = `
  const connects = (target) => new Promise((resolve) => {
    const [host, port] = target.split(":");
    const socket = require("node:net").connect(Number(port), host, () => end(true)).on("error", () => end(false));
    const timer = setTimeout(() => end(false), ${CONNECT_TIMEOUT_MS});
    const end = (isOpen) => { clearTimeout(timer); socket.destroy(); resolve(isOpen); };
  });
  const targets = process.argv.slice(1);
  Promise.all(targets.map(connects)).then((open) => console.log(JSON.stringify(targets.filter((_, index) => open[index]))));`;

describe("the network policies on a real cluster", () => {
  let installation: Installation;
  let tenant: Tenant;
  let targets: Map<string, string>;

  beforeAll(async () => {
    ({ installation, tenant } = await install());
    await run("kubectl", ["apply", "--filename", "-"], { stdin: JSON.stringify(FOREIGN_POD) });
    await installation.kubectl("wait", "--for=condition=Ready", "pod/foreign", "--timeout=60s");
    targets = await listTargets();
  });
  afterAll(async () => {
    await installation.remove();
  });

  /** Returns HOST:PORT for each name in PORTS and OTHERS, and for the API server. */
  async function listTargets(): Promise<Map<string, string>> {
    const found = new Map<string, string>();
    const pods = await installation.pods();
    for (const [name, port] of Object.entries(PORTS)) {
      const pod = pods.find(({ component }) => component === name.split(" ")[0]);
      found.set(name, `${pod?.address}:${port}`);
    }
    for (const [name, { namespace, app, port }] of Object.entries(OTHERS)) {
      const selection = [
        "--namespace",
        namespace,
        `--selector=app=${app}`,
        "--output=jsonpath={.items[0].status.podIP}",
      ];
      found.set(name, `${await run("kubectl", ["get", "pods", ...selection])}:${port}`);
    }
    const service = ["--namespace", "default", "get", "service", "kubernetes", "--output=jsonpath={.spec.clusterIP}"];
    found.set(API_SERVER, `${await run("kubectl", service)}:443`);
    return found;
  }

  /** Returns the pod that connects: a component's last pod, because the first one is a target and a pod can always reach itself. */
  async function findSource(source: string): Promise<[namespace: string, pod: string]> {
    if (source === "a foreign pod in another namespace") return ["backends", "deployment/visitors"];
    if (source === "a foreign pod in Parley's namespace") return ["parley", "pod/foreign"];
    const pod = (await installation.pods()).findLast(({ component }) => component === source);
    return ["parley", `pod/${pod?.name}`];
  }

  async function reachableFrom(source: string): Promise<string[]> {
    const [namespace, pod] = await findSource(source);
    const exec = ["--namespace", namespace, "exec", pod, "--", "node", "--eval", CONNECT, ...targets.values()];
    const open = JSON.parse(await run("kubectl", exec)) as string[];
    return [...targets].flatMap(([name, target]) => (open.includes(target) ? [name] : []));
  }

  it("permit exactly the connections that the components need", async () => {
    const reachable = await timed(
      "connections between pods",
      async () => {
        const sources = Object.keys(PERMITTED);
        const found = await Promise.all(sources.map(reachableFrom));
        return Object.fromEntries(sources.map((source, index) => [source, found[index] ?? []]));
      },
      (found) => {
        const open = Object.values(found).flat().length;
        return `${open} of ${Object.keys(found).length * targets.size} possible`;
      },
    );
    const asSets = (lists: Record<string, string[]>) =>
      Object.fromEntries(Object.entries(lists).map(([source, names]) => [source, new Set(names)]));
    expect(asSets(reachable)).toEqual(asSets(PERMITTED));
  });

  it("cut no stream", async () => {
    const checkLoad = createLoadCheck(installation, tenant, await countReplies(installation, tenant));
    const report = await timed(
      "load under network policies",
      () => installation.underLoad(tenant, () => sleep(40_000)),
      describeStreams,
    );
    await checkLoad(report);
  });
});
