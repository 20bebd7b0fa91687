import { expect, it } from "vitest";
import { type Manifest, ofKind } from "./manifest.ts";
import { renderChart, runHelmTemplate } from "./render.ts";

/** Arguments of `--set` that give the edge a KEDA trigger. */
const KEDA_TRIGGER = ["type=prometheus", "metadata.threshold=100", "metadata.query=sum(parley_streams_open)"]
  .map((each) => `edge.autoscaling.kedaTriggers[0].${each}`)
  .join(",");

it("sets no replicas on a Deployment with an autoscaler", async () => {
  const { manifests } = await renderChart("production");
  const scaled = ofKind(manifests, "HorizontalPodAutoscaler").map(({ spec }) => String(spec.scaleTargetRef.name));
  const deployments = ofKind(manifests, "Deployment");
  const fixed = deployments.filter(({ spec }) => "replicas" in spec).map(({ metadata }) => metadata.name);
  expect(new Set(scaled)).toEqual(new Set(["parley-conversation", "parley-edge", "parley-llm-proxy"]));
  expect(new Set(fixed)).toEqual(new Set(["parley-cli", "parley-quota"]));
});

it("replaces a service's HorizontalPodAutoscaler with a ScaledObject of the same name and replica limits if the service has KEDA triggers", async () => {
  const withoutTriggers = (await renderChart("production")).manifests;
  const { manifests } = await renderChart("production", [KEDA_TRIGGER, "edge.autoscaling.streamsPerPod=0"]);
  const namesOf = (all: Manifest[], kind: string) => ofKind(all, kind).map(({ metadata }) => metadata.name);
  expect(namesOf(withoutTriggers, "HorizontalPodAutoscaler")).toContain("parley-edge");
  expect(namesOf(manifests, "HorizontalPodAutoscaler")).toEqual(
    namesOf(withoutTriggers, "HorizontalPodAutoscaler").filter((name) => name !== "parley-edge"),
  );
  expect(namesOf(withoutTriggers, "ScaledObject")).toEqual([]);
  const [scaled] = ofKind(manifests, "ScaledObject") as [Manifest];
  const autoscaler = ofKind(withoutTriggers, "HorizontalPodAutoscaler").find(
    ({ metadata }) => metadata.name === "parley-edge",
  );
  expect(scaled.metadata.name).toBe("parley-edge");
  expect(scaled.metadata.annotations).toEqual({ "scaledobject.keda.sh/transfer-hpa-ownership": "true" });
  expect(scaled.spec).toEqual({
    scaleTargetRef: { name: "parley-edge" },
    minReplicaCount: autoscaler?.spec.minReplicas,
    maxReplicaCount: autoscaler?.spec.maxReplicas,
    advanced: { horizontalPodAutoscalerConfig: { name: "parley-edge", behavior: autoscaler?.spec.behavior } },
    triggers: [
      { type: "cpu", metricType: "Utilization", metadata: { value: "70" } },
      { type: "prometheus", metadata: { threshold: 100, query: "sum(parley_streams_open)" } },
    ],
  });
  const edges = ofKind(manifests, "Deployment").filter(({ metadata }) => metadata.name === "parley-edge");
  expect(edges.map(({ spec }) => "replicas" in spec)).toEqual([false]);
});

it("refuses edge.autoscaling.streamsPerPod together with KEDA triggers", async () => {
  const { code, output } = await runHelmTemplate("production", [`edge.autoscaling.streamsPerPod=100,${KEDA_TRIGGER}`]);
  expect(code).toBe(1);
  expect(output).toContain("edge.autoscaling.streamsPerPod has no effect");
});
