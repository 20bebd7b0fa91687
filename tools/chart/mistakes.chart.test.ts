import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { allowedCalls, CALL_GRAPH, componentsWithInternetRule } from "./assertions/call-graph.ts";
import { labelProblems } from "./assertions/labels.ts";
import { podSecurityProblems } from "./assertions/pod-security.ts";
import { portProblems } from "./assertions/ports.ts";
import { referenceProblems } from "./assertions/references.ts";
import { selectorProblems } from "./assertions/selectors.ts";
import { type Manifest, podTemplate } from "./manifest.ts";
import { renderChart, valuesFile } from "./render.ts";
import { findUnknownKeys } from "./unknown-keys.ts";
import { schemaProblems } from "./validate.ts";

// Tests the checks of the other chart tests: each check must report a mistake that its test makes in the rendered chart.

let productionManifests: Manifest[];
let consoleManifests: Manifest[];
let gatewayManifests: Manifest[];
let values: unknown;
beforeAll(async () => {
  const rendered = await Promise.all(["production", "console", "gateway-api"].map((name) => renderChart(name)));
  [productionManifests = [], consoleManifests = [], gatewayManifests = []] = rendered.map(({ manifests }) => manifests);
  values = parse(await readFile(valuesFile("production"), "utf8"));
});

/** Returns the rendered chart with one changed document. */
function withMistake(
  kind: string,
  name: string,
  change: (manifest: Manifest) => void,
  manifests: readonly Manifest[] = productionManifests,
): Manifest[] {
  const copy = structuredClone([...manifests]);
  const manifest = copy.find((each) => each.kind === kind && each.metadata.name === name);
  if (manifest === undefined) throw new Error(`the chart has no ${kind} ${name}`);
  change(manifest);
  return copy;
}

/** Returns the first container of a workload. */
function container(manifest: Manifest) {
  const [first] = podTemplate(manifest)?.spec.containers ?? [];
  if (first === undefined) throw new Error("no container");
  return first;
}

describe("checks of rendered documents", () => {
  it("report an unknown key", async () => {
    const documents = withMistake("Deployment", "parley-quota", (manifest) => {
      container(manifest).readinesProbe = { grpc: { port: 8084 } };
    });
    expect(await findUnknownKeys(documents)).toEqual([
      expect.stringMatching(/^Deployment parley-quota: .*readinesProbe/),
    ]);
  });

  it("report a number instead of a string", () => {
    const documents = withMistake("Deployment", "parley-quota", (manifest) => {
      container(manifest).env = [{ name: "DRAIN_MS", value: 25_000 as unknown as string }];
    });
    expect(schemaProblems(documents)).toEqual([expect.stringContaining("Deployment parley-quota")]);
  });

  it("report a missing required field", () => {
    const documents = withMistake("Job", "parley-migrations", (manifest) => {
      delete manifest.spec.template;
    });
    expect(schemaProblems(documents)).toEqual([expect.stringContaining("Job parley-migrations")]);
  });

  it("report an unknown kind", () => {
    const documents = withMistake("Service", "parley", (manifest) => {
      manifest.kind = "Servise";
    });
    expect(schemaProblems(documents)).toEqual(["Servise parley: v1 Servise is not a known kind"]);
  });

  it("report an object and a pod without a label", () => {
    const documents = withMistake("Deployment", "parley-quota", (manifest) => {
      delete manifest.metadata.labels?.team;
      delete podTemplate(manifest)?.labels["app.kubernetes.io/version"];
    });
    expect(labelProblems(documents, values)).toEqual([
      "Deployment parley-quota has no label team",
      "the pod of Deployment parley-quota has no label app.kubernetes.io/version",
    ]);
  });

  it("report a Service port that no container has", () => {
    const documents = withMistake("Service", "parley-quota", (manifest) => {
      manifest.spec.ports[0].port = 9090;
    });
    expect(portProblems(documents)).toEqual(
      expect.arrayContaining([
        "Service parley-quota: headless, and no container listens on 9090",
        expect.stringContaining("QUOTA_TARGET has parley-quota.chat.svc:8084, where nothing listens"),
      ]),
    );
  });

  it("report a Service whose target port no container has", () => {
    const documents = withMistake("Service", "parley", (manifest) => {
      manifest.spec.ports[0].targetPort = "web";
    });
    expect(portProblems(documents)).toEqual(["Service parley: no container has the port web"]);
  });

  it("report a port that no pod has, in a NetworkPolicy and in a PodMonitor", () => {
    const policy = withMistake("NetworkPolicy", "parley-quota", (manifest) => {
      manifest.spec.ingress[0].ports[0].port = "rpcs";
    });
    const monitor = withMistake("PodMonitor", "parley", (manifest) => {
      manifest.spec.podMetricsEndpoints[0].port = "metrics";
    });
    expect(portProblems(policy)).toEqual(["NetworkPolicy parley-quota: its pods have no port rpcs"]);
    expect(portProblems(monitor)).toEqual(["PodMonitor parley: no pod has the port metrics"]);
  });

  it("report an HTTPRoute to a port that the Service does not have", () => {
    const documents = withMistake(
      "HTTPRoute",
      "parley",
      (manifest) => {
        manifest.spec.rules[0].backendRefs[0].port = 8080;
      },
      gatewayManifests,
    );
    expect(portProblems(documents)).toContain("HTTPRoute parley: there is no Service parley with the port 8080");
  });

  it.each([
    ["parley-cli", "PARLEY_EDGE_URL"],
    ["parley-console", "CONVERSATION_URL"],
    ["parley-console", "QUOTA_URL"],
    ["parley-console", "EDGE_URL"],
  ])("report an address where nothing listens, in the environment of the Deployment %s (%s)", (name, variable) => {
    const address = "parley-nothing.chat.svc:8083";
    const documents = withMistake(
      "Deployment",
      name,
      (manifest) => {
        const entry = container(manifest).env?.find((each) => each.name === variable);
        if (entry === undefined) throw new Error(`${name} has no ${variable}`);
        entry.value = `https://${address}`;
      },
      consoleManifests,
    );
    expect(portProblems(documents)).toEqual([`Deployment ${name}: ${variable} has ${address}, where nothing listens`]);
  });

  it("report variables of an init container: an address where nothing listens, and a missing Secret", () => {
    const documents = withMistake("Deployment", "parley-edge", (manifest) => {
      const secretKeyRef = { name: "parley-token", key: "TOKEN" };
      const env = [
        { name: "QUOTA_TARGET", value: "parley-nothing.chat.svc:8083" },
        { name: "A", valueFrom: { secretKeyRef } },
      ];
      manifest.spec.template.spec.initContainers = [{ name: "init", image: "init:1", env }];
    });
    expect(portProblems(documents)).toEqual([
      "Deployment parley-edge: QUOTA_TARGET has parley-nothing.chat.svc:8083, where nothing listens",
    ]);
    expect(referenceProblems(documents, values)).toEqual([
      "Deployment parley-edge: the Secret parley-token is neither created by the chart nor named in the values",
      "Deployment parley-edge: the Secret key TOKEN is neither in SECRET_KEYS nor named in the values",
    ]);
  });

  it("report a probe of a port that the container does not have", () => {
    const documents = withMistake("Deployment", "parley-edge", (manifest) => {
      container(manifest).livenessProbe = { httpGet: { path: "/healthz/live", port: "web" } };
    });
    expect(portProblems(documents)).toEqual([
      "Deployment parley-edge: the livenessProbe uses the port web, which edge does not have",
    ]);
  });

  it("report an Ingress to a missing Service", () => {
    const documents = withMistake("Ingress", "parley", (manifest) => {
      manifest.spec.rules[0].http.paths[0].backend.service.name = "edge";
    });
    expect(portProblems(documents)).toEqual(["Ingress parley: there is no Service edge with the port http"]);
  });

  it("report a selector that matches no pods, or the pods of another component", () => {
    const noPod = withMistake("Service", "parley-quota", (manifest) => {
      manifest.spec.selector["app.kubernetes.io/component"] = "quotas";
    });
    const otherPods = withMistake("PodDisruptionBudget", "parley-quota", (manifest) => {
      manifest.spec.selector.matchLabels["app.kubernetes.io/component"] = "edge";
    });
    expect(selectorProblems(noPod)).toEqual(["Service parley-quota selects no pod"]);
    expect(selectorProblems(otherPods)).toEqual([
      "PodDisruptionBudget parley-quota selects the pods of Deployment parley-edge",
    ]);
  });

  it("report a missing Secret and an unknown key", () => {
    const fromVariable = withMistake("Deployment", "parley-edge", (manifest) => {
      container(manifest).env = [{ name: "A", valueFrom: { secretKeyRef: { name: "parley-token", key: "TOKEN" } } }];
    });
    const fromVolume = withMistake("Deployment", "parley-edge", ({ spec }) => {
      const items = [{ key: "TOKEN", path: "TOKEN" }];
      spec.template.spec.volumes = [
        { name: "secret-files", projected: { sources: [{ secret: { name: "parley-token", items } }] } },
      ];
    });
    for (const each of [fromVariable, fromVolume])
      expect(referenceProblems(each, values)).toEqual([
        "Deployment parley-edge: the Secret parley-token is neither created by the chart nor named in the values",
        "Deployment parley-edge: the Secret key TOKEN is neither in SECRET_KEYS nor named in the values",
      ]);
  });

  it.each([
    ["a volume", { configMap: { name: "settings" } }],
    ["a projected volume", { projected: { sources: [{ configMap: { name: "settings" } }] } }],
  ])("report a missing ConfigMap of %s", (_, volume) => {
    const documents = withMistake("Deployment", "parley-edge", ({ spec }) => {
      spec.template.spec.volumes = [{ name: "settings", ...volume }];
    });
    expect(referenceProblems(documents, values)).toEqual([
      "Deployment parley-edge: the ConfigMap settings is neither created by the chart nor named in the values",
    ]);
  });

  it("report a missing ServiceAccount", () => {
    const documents = withMistake("Deployment", "parley-edge", ({ spec }) => {
      spec.template.spec.serviceAccountName = "edge";
    });
    expect(referenceProblems(documents, values)).toEqual([
      "Deployment parley-edge: the chart does not create the ServiceAccount edge",
    ]);
  });

  it.each([
    ["the node's network", { hostNetwork: true }, "shares a namespace with its node"],
    ["the node's processes", { hostPID: true }, "shares a namespace with its node"],
    ["the node's IPC", { hostIPC: true }, "shares a namespace with its node"],
    [
      "no seccomp profile",
      { securityContext: { runAsNonRoot: true } },
      "does not use the seccomp profile RuntimeDefault",
    ],
    [
      "automountServiceAccountToken unset",
      { automountServiceAccountToken: undefined },
      "may mount a token of the cluster's API",
    ],
    ["a token", { automountServiceAccountToken: true }, "mounts a token of the cluster's API without a Role"],
    ["service links", { enableServiceLinks: true }, "gets environment variables with the address of every Service"],
  ])("report a pod with %s", (_, change, problem) => {
    const documents = withMistake("Deployment", "parley-edge", (manifest) => {
      Object.assign(manifest.spec.template.spec, change);
    });
    expect(podSecurityProblems(documents)).toEqual([`Deployment parley-edge: ${problem}`]);
  });

  it.each([
    ["CPU request", "requests", "cpu"],
    ["memory request", "requests", "memory"],
    ["memory limit", "limits", "memory"],
  ] as const)("report a container without a %s", (value, kind, resource) => {
    const documents = withMistake("Deployment", "parley-edge", (manifest) => {
      delete container(manifest).resources?.[kind]?.[resource];
    });
    expect(podSecurityProblems(documents)).toEqual([`Deployment parley-edge: edge has no ${value}`]);
  });

  it("report a container without requests and limits", () => {
    const documents = withMistake("Deployment", "parley-edge", (manifest) => {
      delete container(manifest).resources;
    });
    expect(podSecurityProblems(documents)).toEqual([
      "Deployment parley-edge: edge has no CPU request",
      "Deployment parley-edge: edge has no memory request",
      "Deployment parley-edge: edge has no memory limit",
    ]);
  });

  it.each(["parley/edge", "registry.example.com:5000/parley/edge", "parley/edge:latest"])(
    "report an image whose version is not fixed: %s",
    (image) => {
      const documents = withMistake("Deployment", "parley-edge", (manifest) => {
        container(manifest).image = image;
      });
      expect(podSecurityProblems(documents)).toEqual([
        "Deployment parley-edge: edge uses an image without a tag or with the tag latest",
      ]);
    },
  );

  it.each([
    ["privileged", { privileged: true }, "is privileged"],
    ["escalation", { allowPrivilegeEscalation: true }, "may gain privileges"],
    ["root", { runAsUser: 0 }, "may run as root"],
    ["capabilities", { capabilities: { drop: ["ALL"], add: ["NET_ADMIN"] } }, "keeps capabilities"],
    ["a writable root", { readOnlyRootFilesystem: false }, "can write to its root file system"],
    [
      "an unconfined seccomp profile",
      { seccompProfile: { type: "Unconfined" } },
      "has a seccomp profile other than RuntimeDefault",
    ],
    ["unmasked /proc", { procMount: "Unmasked" }, "has unmasked files in /proc"],
    ["SELinux", { seLinuxOptions: { type: "spc_t" } }, "sets SELinux options"],
  ])("report a privilege in a container's security context (%s)", (_, privilege, problem) => {
    const documents = withMistake("Deployment", "parley-edge", (manifest) => {
      Object.assign(container(manifest).securityContext ?? {}, privilege);
    });
    expect(podSecurityProblems(documents)).toEqual([`Deployment parley-edge: edge ${problem}`]);
  });

  it.each([
    ["sysctls", { sysctls: [{ name: "kernel.msgmax", value: "65536" }] }, "sets sysctls"],
    ["SELinux options", { seLinuxOptions: { type: "spc_t" } }, "sets SELinux options"],
  ])("report a pod's security context with %s", (_, privilege, problem) => {
    const documents = withMistake("Deployment", "parley-edge", (manifest) => {
      Object.assign(manifest.spec.template.spec.securityContext, privilege);
    });
    expect(podSecurityProblems(documents)).toEqual([`Deployment parley-edge: ${problem}`]);
  });

  it("report a container that uses a port of its node", () => {
    const documents = withMistake("Deployment", "parley-edge", (manifest) => {
      Object.assign(container(manifest).ports?.[0] ?? {}, { hostPort: 80 });
    });
    expect(podSecurityProblems(documents)).toEqual(["Deployment parley-edge: edge uses a port of its node"]);
  });

  it("report a hostPath volume", () => {
    const documents = withMistake("Deployment", "parley-edge", (manifest) => {
      manifest.spec.template.spec.volumes.push({ name: "host", hostPath: { path: "/" } });
    });
    expect(podSecurityProblems(documents)).toEqual(["Deployment parley-edge: the volume host is a hostPath"]);
  });

  it("report calls outside the call graph, and a rule for the internet", () => {
    const documents = withMistake("NetworkPolicy", "parley-quota", (manifest) => {
      const edge = { podSelector: { matchLabels: { "app.kubernetes.io/component": "edge" } } };
      manifest.spec.egress.push({ to: [{ ipBlock: { cidr: "0.0.0.0/0" } }], ports: [{ port: 443 }] });
      manifest.spec.egress.push({ to: [edge], ports: [{ port: "http" }] });
      manifest.spec.ingress[0].from.push({
        podSelector: { matchLabels: { "app.kubernetes.io/component": "llm-proxy" } },
      });
    });
    expect(allowedCalls(documents).ingress).toEqual(new Set([...CALL_GRAPH, "llm-proxy → quota:grpc"]));
    expect(allowedCalls(documents).egress).toEqual(new Set([...CALL_GRAPH, "quota → edge:http"]));
    expect(componentsWithInternetRule(documents).has("quota")).toBe(true);
  });
});
