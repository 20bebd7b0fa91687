import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { parseAllDocuments, stringify } from "yaml";
import { createScaledAlertRules, type RuleGroup } from "../observability/sources.ts";
import { type Prometheus, startPrometheus } from "../system/servers/prometheus.ts";
import type { Installation } from "./installation.ts";

type Relabeling = { sourceLabels?: string[]; targetLabel: string; replacement?: string };
type PodMonitor = {
  metadata: { name: string };
  spec: {
    selector: { matchLabels: Record<string, string> };
    podMetricsEndpoints: { port: string; path: string; honorLabels: boolean; relabelings: Relabeling[] }[];
  };
};
type PrometheusRule = { spec: { groups: RuleGroup[] } };
type Pod = {
  metadata: { name: string; namespace: string; labels: Record<string, string> };
  spec: { containers: { name: string; ports?: { name?: string; containerPort: number }[] }[] };
  status: { podIP?: string; phase?: string };
};
type Job = {
  metadata: { name: string; namespace: string };
  status: { active?: number; succeeded?: number; failed?: number; startTime?: string };
};

/** How many times shorter the windows and delays of the alerts with the label `scaled` are than those of the chart's rules. */
export const SCALE = 15;

/**
 * Starts a Prometheus that scrapes Parley's pods as the chart's PodMonitor selects them. It has the chart's alerts, and a copy of them with
 * windows and delays divided by SCALE. This machine must reach the pods' addresses.
 */
export async function startClusterPrometheus(installation: Installation): Promise<Prometheus> {
  const { monitor, groups } = await renderMonitoring(installation);
  const cluster = await serveCluster(monitor);
  const prometheus = await startPrometheus({
    scrapeConfigs: [
      ...monitor.spec.podMetricsEndpoints.map((endpoint) => createScrapeConfig(monitor, endpoint, cluster.url)),
      { job_name: "kube-jobs", static_configs: [{ targets: [new URL(cluster.url).host] }] },
    ],
    rules: { "alerts.yaml": stringify({ groups }), "scaled.yaml": createScaledAlertRules(groups, SCALE) },
  });
  return {
    ...prometheus,
    async stop() {
      await prometheus.stop();
      await cluster.stop();
    },
  };
}

async function renderMonitoring({ helm }: Installation): Promise<{ monitor: PodMonitor; groups: RuleGroup[] }> {
  const shown = ["pod-monitor", "prometheus-rule"].map((name) => `--show-only=templates/monitoring/${name}.yaml`);
  const enabled = ["podMonitor", "prometheusRule"].map((name) => `--set=${name}.enabled=true`);
  // The chart requires the peers, but network policies do not restrict the node, on which this Prometheus runs.
  const peers = '--set-json=networkPolicy.prometheus=[{"podSelector":{}}]';
  const options = ["--namespace", "parley", "--values", "values.yaml", ...shown, ...enabled, peers];
  const rendered = await helm("template", "parley", "charts/parley", ...options);
  const manifests = parseAllDocuments(rendered).map((document) => document.toJS() as { kind: string });
  const find = (kind: string) => manifests.find((each) => each.kind === kind) as unknown;
  return { monitor: find("PodMonitor") as PodMonitor, groups: (find("PrometheusRule") as PrometheusRule).spec.groups };
}

/** Returns the scrape configuration that the Prometheus operator generates for an endpoint of a PodMonitor, except for the discovery. */
function createScrapeConfig(
  { metadata }: PodMonitor,
  { port, path, honorLabels, relabelings }: PodMonitor["spec"]["podMetricsEndpoints"][number],
  clusterUrl: string,
): object {
  return {
    job_name: `parley/${metadata.name}`,
    metrics_path: path,
    honor_labels: honorLabels,
    http_sd_configs: [{ url: `${clusterUrl}/pods`, refresh_interval: "1s" }],
    relabel_configs: [
      { source_labels: ["__meta_kubernetes_pod_phase"], regex: "Failed|Succeeded", action: "drop" },
      { source_labels: ["__meta_kubernetes_pod_container_port_name"], regex: port, action: "keep" },
      { source_labels: ["__meta_kubernetes_namespace"], target_label: "namespace" },
      { source_labels: ["__meta_kubernetes_pod_name"], target_label: "pod" },
      { source_labels: ["__meta_kubernetes_pod_container_name"], target_label: "container" },
      ...relabelings.map(({ sourceLabels, targetLabel, replacement }) => ({
        target_label: targetLabel,
        ...(sourceLabels && { source_labels: sourceLabels }),
        ...(replacement !== undefined && { replacement }),
      })),
    ],
  };
}

/**
 * Serves the PodMonitor's pods at `/pods` as Prometheus' HTTP service discovery reads them, because Debian's Prometheus has no discovery for
 * Kubernetes. Serves the metrics of Jobs that the alerts read at `/metrics`. In users' clusters, kube-state-metrics exports them.
 */
async function serveCluster({ spec }: PodMonitor): Promise<{ url: string; stop(): Promise<void> }> {
  const selector = Object.entries(spec.selector.matchLabels).map((each) => each.join("="));
  const pods = watchObjects<Pod>(
    `/api/v1/namespaces/parley/pods?labelSelector=${encodeURIComponent(selector.join(","))}`,
  );
  const jobs = watchObjects<Job>("/apis/batch/v1/namespaces/parley/jobs?");
  const server = createServer(({ url }, response) => {
    if (url === "/pods") {
      response.setHeader("content-type", "application/json").end(JSON.stringify(pods.list().flatMap(describeTargets)));
    } else response.setHeader("content-type", "text/plain").end(formatJobMetrics(jobs.list()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async stop() {
      await Promise.all([pods.stop(), jobs.stop()]);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** Keeps a list of objects up to date. `path` is a list of the Kubernetes API, with a query. */
function watchObjects<T extends { metadata: { name: string } }>(path: string): { list(): T[]; stop(): Promise<void> } {
  const objects = new Map<string, T>();
  const child = spawn("kubectl", ["get", "--raw", `${path}&watch=1&resourceVersion=0&timeoutSeconds=7200`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  createInterface({ input: child.stdout }).on("line", (line) => {
    // The last line of a stopped watch may be incomplete.
    if (child.killed) return;
    const { type, object } = JSON.parse(line) as { type: string; object: T };
    if (type === "DELETED") objects.delete(object.metadata.name);
    else objects.set(object.metadata.name, object);
  });
  return {
    list: () => [...objects.values()],
    async stop() {
      child.kill();
      await exited;
    },
  };
}

/** Returns the targets of a pod, one for each port, with the labels of Prometheus' discovery for Kubernetes. */
function describeTargets({ metadata, spec, status }: Pod): object[] {
  const { podIP, phase = "" } = status;
  if (podIP === undefined) return [];
  const podLabels = Object.entries(metadata.labels).map(([name, value]) => [
    `__meta_kubernetes_pod_label_${name.replaceAll(/\W/g, "_")}`,
    value,
  ]);
  return spec.containers.flatMap(({ name: container, ports = [] }) =>
    ports.map(({ name: port = "", containerPort }) => ({
      targets: [`${podIP}:${containerPort}`],
      labels: {
        ...Object.fromEntries(podLabels),
        __meta_kubernetes_namespace: metadata.namespace,
        __meta_kubernetes_pod_name: metadata.name,
        __meta_kubernetes_pod_phase: phase,
        __meta_kubernetes_pod_container_name: container,
        __meta_kubernetes_pod_container_port_name: port,
      },
    })),
  );
}

function formatJobMetrics(jobs: readonly Job[]): string {
  const lines = jobs.flatMap(({ metadata, status }) => {
    const labels = `{namespace="${metadata.namespace}",job_name="${metadata.name}"}`;
    const startedAt = status.startTime === undefined ? [] : [Date.parse(status.startTime) / 1_000];
    return [
      `kube_job_status_active${labels} ${status.active ?? 0}`,
      `kube_job_status_succeeded${labels} ${status.succeeded ?? 0}`,
      `kube_job_status_failed${labels} ${status.failed ?? 0}`,
      ...startedAt.map((seconds) => `kube_job_status_start_time${labels} ${seconds}`),
    ];
  });
  return `${lines.join("\n")}\n`;
}
