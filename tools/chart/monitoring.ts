import { type Manifest, ofKind } from "./manifest.ts";

type Rule = { alert?: string; record?: string; expr: string; labels: Record<string, string> };
export type RuleGroup = { name: string; rules: Rule[] };

/** Returns the groups of the rendered PrometheusRules. */
export function ruleGroups(manifests: readonly Manifest[]): RuleGroup[] {
  return ofKind(manifests, "PrometheusRule").flatMap(({ spec }) => spec.groups as RuleGroup[]);
}

/** Returns the files of the ConfigMaps with the label by which Grafana's sidecar finds dashboards. */
export function dashboardFiles(manifests: readonly Manifest[]): [name: string, json: string][] {
  const maps = ofKind(manifests, "ConfigMap").filter(({ metadata }) => metadata.labels?.grafana_dashboard === "1");
  return maps.flatMap(({ data }) => Object.entries(data as Record<string, string>));
}
