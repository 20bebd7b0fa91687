import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { allowedCalls, CALL_GRAPH, reachInternet } from "./assertions/call-graph.ts";
import { labelProblems } from "./assertions/labels.ts";
import { podSecurityProblems } from "./assertions/pod-security.ts";
import { portProblems } from "./assertions/ports.ts";
import { referenceProblems } from "./assertions/references.ts";
import { selectorProblems } from "./assertions/selectors.ts";
import { type Manifest, podTemplate } from "./manifest.ts";
import { render, template, valuesFile } from "./render.ts";
import { unknownKeys } from "./unknown-keys.ts";
import { schemaProblems } from "./validate.ts";

// Each check is shown what it is there to find: a check that cannot fail proves nothing.

let sound: Manifest[];
let values: unknown;
beforeAll(async () => {
  sound = (await render("production")).manifests;
  values = parse(await readFile(valuesFile("production"), "utf8"));
});

/** The rendered chart with one document changed. */
function spoiled(kind: string, name: string, spoil: (manifest: Manifest) => void): Manifest[] {
  const copy = structuredClone(sound);
  const manifest = copy.find((each) => each.kind === kind && each.metadata.name === name);
  if (manifest === undefined) throw new Error(`there is no ${kind} ${name}`);
  spoil(manifest);
  return copy;
}

function container(manifest: Manifest) {
  const [first] = podTemplate(manifest)?.spec.containers ?? [];
  if (first === undefined) throw new Error("no container");
  return first;
}

describe("a mistake in the values", () => {
  it.each([
    ["a key that does not exist", "edge.replica=3", "'replica' not allowed"],
    ["a word for a number", "edge.replicas=many", "got string, want integer"],
    ["a value that is none of those allowed", "logLevel=loud", "value must be one of"],
    ["a digest that is none", "edge.image.digest=latest", "does not match pattern"],
    ["an address that is no network", "edge.trustedProxies[0]=loadbalancer", "does not match pattern"],
  ])("is refused: %s", async (_, set, reason) => {
    const { code, output } = await template("minimal", [set]);
    expect(code).not.toBe(0);
    expect(output).toContain(reason);
  });
});

describe("a mistake in a document", () => {
  it("is found: a key that Kubernetes would drop without a word", async () => {
    const documents = spoiled("Deployment", "parley-quota", (manifest) => {
      container(manifest).readinesProbe = { grpc: { port: 8084 } };
    });
    expect(await unknownKeys(documents)).toEqual([expect.stringMatching(/^Deployment parley-quota: .*readinesProbe/)]);
  });

  it("is found: a number where words belong", () => {
    const documents = spoiled("Deployment", "parley-quota", (manifest) => {
      container(manifest).env = [{ name: "DRAIN_MS", value: 25_000 as unknown as string }];
    });
    expect(schemaProblems(documents)).toEqual([expect.stringContaining("Deployment parley-quota")]);
  });

  it("is found: a required field left out", () => {
    const documents = spoiled("Job", "parley-migrations", (manifest) => {
      delete manifest.spec.template;
    });
    expect(schemaProblems(documents)).toEqual([expect.stringContaining("Job parley-migrations")]);
  });

  it("is found: a kind that nobody has looked at", () => {
    const documents = spoiled("Service", "parley", (manifest) => {
      manifest.kind = "Servise";
    });
    expect(schemaProblems(documents)).toEqual(["Servise parley: v1 Servise is not a known kind"]);
  });

  it("is found: an object or a pod without a label", () => {
    const documents = spoiled("Deployment", "parley-quota", (manifest) => {
      delete manifest.metadata.labels?.team;
      delete podTemplate(manifest)?.labels["app.kubernetes.io/version"];
    });
    expect(labelProblems(documents, values)).toEqual([
      "Deployment parley-quota has no label team",
      "the pod of Deployment parley-quota has no label app.kubernetes.io/version",
    ]);
  });

  it("is found: a Service's port that no container has", () => {
    const documents = spoiled("Service", "parley-quota", (manifest) => {
      manifest.spec.ports[0].port = 9090;
    });
    expect(portProblems(documents)).toEqual(
      expect.arrayContaining([
        "Service parley-quota: headless, and no container listens on 9090",
        expect.stringContaining("QUOTA_TARGET has parley-quota.chat.svc:8084, and nothing listens there"),
      ]),
    );
  });

  it("is found: a probe that asks where nobody listens", () => {
    const documents = spoiled("Deployment", "parley-edge", (manifest) => {
      container(manifest).livenessProbe = { httpGet: { path: "/healthz/live", port: "web" } };
    });
    expect(portProblems(documents)).toEqual([
      "Deployment parley-edge: the livenessProbe asks the port web, which edge has not",
    ]);
  });

  it("is found: an Ingress to a Service that is not there", () => {
    const documents = spoiled("Ingress", "parley", (manifest) => {
      manifest.spec.rules[0].http.paths[0].backend.service.name = "edge";
    });
    expect(portProblems(documents)).toEqual(["Ingress parley: there is no Service edge with the port http"]);
  });

  it("is found: a selector that selects nothing, or another's pods", () => {
    const nothing = spoiled("Service", "parley-quota", (manifest) => {
      manifest.spec.selector["app.kubernetes.io/component"] = "quotas";
    });
    const another = spoiled("PodDisruptionBudget", "parley-quota", (manifest) => {
      manifest.spec.selector.matchLabels["app.kubernetes.io/component"] = "edge";
    });
    expect(selectorProblems(nothing)).toEqual(["Service parley-quota selects no pod"]);
    expect(selectorProblems(another)).toEqual([
      "PodDisruptionBudget parley-quota selects the pods of Deployment parley-edge",
    ]);
  });

  it("is found: a Secret that nobody makes, and a key that nobody documents", () => {
    const documents = spoiled("Deployment", "parley-edge", (manifest) => {
      container(manifest).env = [{ name: "A", valueFrom: { secretKeyRef: { name: "parley-token", key: "TOKEN" } } }];
    });
    expect(referenceProblems(documents, values)).toEqual([
      "Deployment parley-edge: nobody makes the Secret parley-token",
      "Deployment parley-edge: the Secret's key TOKEN is not documented",
    ]);
  });

  it.each([
    ["privileged", { privileged: true }, "is privileged"],
    ["escalation", { allowPrivilegeEscalation: true }, "may gain privileges"],
    ["root", { runAsUser: 0 }, "may run as root"],
    ["capabilities", { capabilities: { drop: ["ALL"], add: ["NET_ADMIN"] } }, "keeps capabilities"],
    ["a writable root", { readOnlyRootFilesystem: false }, "can write to its root file system"],
  ])("is found: a privilege (%s)", (_, privilege, problem) => {
    const documents = spoiled("Deployment", "parley-edge", (manifest) => {
      Object.assign(container(manifest).securityContext ?? {}, privilege);
    });
    expect(podSecurityProblems(documents)).toEqual([`Deployment parley-edge: edge ${problem}`]);
  });

  it("is found: a volume of the node", () => {
    const documents = spoiled("Deployment", "parley-edge", (manifest) => {
      manifest.spec.template.spec.volumes.push({ name: "host", hostPath: { path: "/" } });
    });
    expect(podSecurityProblems(documents)).toEqual(["Deployment parley-edge: the volume host is a hostPath"]);
  });

  it("is found: a call that nobody drew", () => {
    const documents = spoiled("NetworkPolicy", "parley-quota", (manifest) => {
      manifest.spec.egress.push({ to: [{ ipBlock: { cidr: "0.0.0.0/0" } }], ports: [{ port: 443 }] });
      manifest.spec.ingress[0].from.push({
        podSelector: { matchLabels: { "app.kubernetes.io/component": "llm-proxy" } },
      });
    });
    expect(allowedCalls(documents).ingress).toEqual(new Set([...CALL_GRAPH, "llm-proxy → quota:grpc"]));
    expect(reachInternet(documents).has("quota")).toBe(true);
  });
});
