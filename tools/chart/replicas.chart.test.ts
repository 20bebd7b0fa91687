import { readFile } from "node:fs/promises";
import { devNull } from "node:os";
import { describe, expect, it, onTestFinished } from "vitest";
import { startApiServer } from "./api-server.ts";
import { type Manifest, parseManifests } from "./manifest.ts";
import { runHelmTemplate } from "./render.ts";

/**
 * The Deployment parley-edge by state, as `kubectl get --show-managed-fields` of Kubernetes 1.34.4 returned it, reduced to the fields that the
 * chart reads. The states:
 * - "fixed": the values set the replicas;
 * - "autoscaled": an upgrade turned autoscaling on;
 * - "autoscaled from the start": autoscaling was on in the first installation;
 * - "stopped": "fixed", after `kubectl scale --replicas 0`;
 * - "fixed by Helm 3" and "autoscaled by Helm 3": like "fixed" and "autoscaled", but installed with Helm 3, which has no server-side apply.
 */
const live = JSON.parse(await readFile(new URL("./live-deployments.json", import.meta.url), "utf8")) as Record<
  string,
  Manifest
>;

const HPA = { apiVersion: "autoscaling/v2", kind: "HorizontalPodAutoscaler", metadata: { name: "parley-edge" } };

/** Renders an upgrade in a cluster with these objects. Returns the edge's rendered replicas, if any, and the paths that helm requested. */
async function upgrade(objects: readonly Manifest[], sets: readonly string[]) {
  const server = await startApiServer("chat", objects);
  onTestFinished(() => server.stop());
  // An empty kubeconfig, because helm would send the credentials of a real one.
  const connection = ["--dry-run=server", `--kube-apiserver=${server.url}`, `--kubeconfig=${devNull}`];
  const flags = ["--is-upgrade", "--disable-openapi-validation"];
  const { code, output } = await runHelmTemplate("minimal", sets, [...connection, ...flags]);
  expect(code, output).toBe(0);
  const edge = parseManifests(output).find(
    ({ kind, metadata }) => kind === "Deployment" && metadata.name === "parley-edge",
  );
  expect(edge).toBeDefined();
  return { replicas: edge?.spec.replicas as number | undefined, requestedPaths: server.requestedPaths };
}

function deployment(state: string): Manifest {
  const found = live[state];
  if (found === undefined) throw new Error(`live-deployments.json has no Deployment ${state}`);
  return found;
}

describe("an upgrade with autoscaling on", () => {
  const autoscalingOn = ["edge.replicas=7", "edge.autoscaling.enabled=true", "edge.autoscaling.minReplicas=2"];

  it.each([
    ["fixed", 3],
    ["fixed by Helm 3", 3],
    ["autoscaled by Helm 3", 5],
  ])("sends the live replica count for a Deployment that is %s", async (state, replicas) => {
    expect(await upgrade([deployment(state)], autoscalingOn)).toMatchObject({ replicas });
  });

  it.each(["autoscaled", "autoscaled from the start"])(
    "sends no replica count for a Deployment that is %s",
    async (state) => {
      expect(await upgrade([deployment(state), HPA], autoscalingOn)).toMatchObject({ replicas: undefined });
    },
  );

  it("sends the live replica count even if minReplicas is larger, because the autoscaler corrects the count", async () => {
    const atLeastFour = [...autoscalingOn, "edge.autoscaling.minReplicas=4"];
    expect(await upgrade([deployment("fixed")], atLeastFour)).toMatchObject({ replicas: 3 });
  });

  it("sends minReplicas for a stopped Deployment, because an autoscaler ignores a Deployment with 0 replicas", async () => {
    expect(await upgrade([deployment("stopped"), HPA], autoscalingOn)).toMatchObject({ replicas: 2 });
  });

  it("sends no replica count if the Deployment does not exist", async () => {
    expect(await upgrade([], autoscalingOn)).toMatchObject({ replicas: undefined });
  });
});

describe("an upgrade with autoscaling off", () => {
  const autoscalingOff = ["edge.replicas=7"];

  it.each(["autoscaled", "autoscaled from the start", "autoscaled by Helm 3"])(
    "sends the live replica count for a Deployment that is %s while its autoscaler exists",
    async (state) => {
      expect(await upgrade([deployment(state), HPA], autoscalingOff)).toMatchObject({ replicas: 5 });
    },
  );

  it.each(["autoscaled", "autoscaled from the start", "autoscaled by Helm 3"])(
    "sends the values' replica count for a Deployment that is %s after its autoscaler was deleted",
    async (state) => {
      expect(await upgrade([deployment(state)], autoscalingOff)).toMatchObject({ replicas: 7 });
    },
  );

  it.each(["fixed", "fixed by Helm 3", "stopped"])(
    "sends the values' replica count for a Deployment that is %s without reading autoscalers",
    async (state) => {
      const { replicas, requestedPaths } = await upgrade([deployment(state), HPA], autoscalingOff);
      expect(replicas).toBe(7);
      expect(requestedPaths).toContain("/apis/apps/v1/namespaces/chat/deployments/parley-edge");
      expect(requestedPaths.filter((path) => path.includes("/horizontalpodautoscalers/"))).toEqual([]);
    },
  );
});
