import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import type { Manifest } from "./manifest.ts";
import { render } from "./render.ts";

/** The chart as rendered with the production values. A review sees there what a change of the chart does to a cluster. */
export const GOLDEN = fileURLToPath(new URL("./golden/production.yaml", import.meta.url));

export async function goldenText(): Promise<string> {
  const { manifests } = await render("production");
  return manifests.map((manifest) => stringify(withoutFiles(manifest), { lineWidth: 0 })).join("---\n");
}

/** Leaves out the dashboards and the alerts, which the chart takes from its files as they are. */
function withoutFiles(manifest: Manifest): Manifest {
  if (manifest.kind === "PrometheusRule") return { ...manifest, spec: "files/alerts.yaml" };
  if (manifest.metadata.labels?.grafana_dashboard === undefined) return manifest;
  return { ...manifest, data: Object.keys(manifest.data as object) };
}
