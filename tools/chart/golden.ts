import { fileURLToPath } from "node:url";
import { stringify } from "yaml";
import type { Manifest } from "./manifest.ts";
import { renderChart } from "./render.ts";

/** The golden file: the chart rendered with the production values. Its diff shows reviewers how a change affects a cluster. */
export const GOLDEN = fileURLToPath(new URL("./golden/production.yaml", import.meta.url));

export async function goldenText(): Promise<string> {
  const { manifests } = await renderChart("production");
  return manifests.map((manifest) => stringify(withoutFiles(manifest), { lineWidth: 0 })).join("---\n");
}

/** Replaces dashboards and alerts with file names, because the diff of these files already shows their changes. */
function withoutFiles(manifest: Manifest): Manifest {
  if (manifest.kind === "PrometheusRule") return { ...manifest, spec: "files/alerts.yaml" };
  if (manifest.metadata.labels?.grafana_dashboard === undefined) return manifest;
  return { ...manifest, data: Object.keys(manifest.data as object) };
}
