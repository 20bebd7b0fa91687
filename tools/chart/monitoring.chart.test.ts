import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { DASHBOARDS } from "../../deploy/grafana/dashboards.ts";
import { componentOf, type Manifest, ofKind, parseManifests, workloads } from "./manifest.ts";
import { dashboardFiles, type RuleGroup, ruleGroups } from "./monitoring.ts";
import { CHART, renderChart, runHelmTemplate } from "./render.ts";

/** Uses `--set-json`, because `--set` would turn a fraction into a string. */
function thresholdFlags(alert: string, threshold: number): string[] {
  return ["--set-json", `prometheusRule.alerts.${alert}.threshold=${threshold}`];
}

/** Removes the labels and selectors that limit the rules to one installation. */
function withoutInstallation(groups: RuleGroup[]): unknown[] {
  return groups.map(({ name, rules }) => ({
    name,
    rules: rules.map(({ expr, labels: { namespace: _namespace, release: _release, ...labels }, ...rule }) => ({
      ...rule,
      expr: expr
        .replaceAll('{namespace="chat", release="parley"}', "")
        .replaceAll('{namespace="chat", release="parley", ', "{")
        .replaceAll('namespace="chat"', 'namespace=~".+"'),
      ...(Object.keys(labels).length === 0 ? {} : { labels }),
    })),
  }));
}

it("renders the rules of files/alerts.yaml, with absolute runbook URLs", async () => {
  const rendered = ruleGroups((await renderChart("production")).manifests);
  const source = await readFile(join(CHART, "files/alerts.yaml"), "utf8");
  const base = "https://git.example.com/parley/blob/main/docs/operations/runbooks/";
  const { groups } = parse(source.replaceAll("runbook_url: docs/operations/runbooks/", `runbook_url: ${base}`));
  expect(withoutInstallation(rendered)).toEqual(groups);
  const urls = JSON.stringify(rendered).match(/"runbook_url":"[^"]+"/g) ?? [];
  expect(urls.length).toBeGreaterThan(0);
  expect(urls.filter((url) => !url.startsWith(`"runbook_url":"${base}`))).toEqual([]);
});

it("renders an alert with the severity, delay and threshold of the values, and leaves out a disabled alert", async () => {
  const sets = [
    "prometheusRule.alerts.ParleyProviderSlow.severity=warning",
    "prometheusRule.alerts.ParleyProviderSlow.for=1h",
    "prometheusRule.alerts.ParleyProviderSlow.threshold=20",
    "prometheusRule.alerts.ParleyJwksStale.enabled=false",
  ];
  const rulesOf = async (...values: string[]) =>
    ruleGroups((await renderChart("production", values)).manifests).flatMap(({ rules }) => rules);
  const [normal, changed] = await Promise.all([rulesOf(), rulesOf(...sets)]);
  const expected = normal.flatMap((rule) => {
    if (rule.alert === "ParleyJwksStale") return [];
    if (rule.alert !== "ParleyProviderSlow") return [rule];
    const expr = rule.expr.replace("> 5 # threshold", "> 20 # threshold");
    expect(expr).not.toBe(rule.expr);
    return [{ ...rule, expr, for: "1h", labels: { ...rule.labels, severity: "warning" } }];
  });
  expect(expected).toHaveLength(normal.length - 1);
  expect(changed).toEqual(expected);
});

it("replaces every occurrence of an alert's threshold in its expression", async () => {
  const { groups } = parse(await readFile(join(CHART, "files/alerts.yaml"), "utf8")) as { groups: RuleGroup[] };
  const alerts = groups.flatMap(({ rules }) => rules).filter(({ alert }) => alert !== undefined);
  const withThreshold = alerts.filter(({ expr }) => expr.includes("# threshold"));
  const withoutThreshold = alerts.filter(({ expr }) => !expr.includes("# threshold"));
  // The expressions of these alerts have no number, or a number that must not change.
  expect(withoutThreshold.map(({ alert }) => alert)).toEqual([
    "ParleyTargetDown",
    "ParleyServiceMissing",
    "ParleyConsoleDown",
    "ParleyAutoscalerAtMaximum",
    "ParleyMigrationFailed",
    "ParleyShardUnavailable",
    "ParleyProviderDown",
    "ParleyProviderBreakerOpen",
    "ParleyProviderRefusesKey",
    "ParleyConfigReloadRefused",
    "ParleyUsageUnreconciled",
    "ParleyAccountingUnknown",
    "ParleyWorkspaceAtCap",
    "ParleyWorkspaceUnpaid",
  ]);
  const { output } = await runHelmTemplate(
    "production",
    [],
    withThreshold.flatMap(({ alert = "" }) => thresholdFlags(alert, 0.0042)),
  );
  const rendered = new Map(
    ruleGroups(parseManifests(output))
      .flatMap(({ rules }) => rules)
      .map(({ alert, expr }) => [alert, expr]),
  );
  for (const { alert, expr } of withThreshold) {
    const numbers = rendered.get(alert)?.match(/\S+ # threshold/g) ?? [];
    expect(numbers, alert).toEqual(expr.match(/# threshold/g)?.map((comment) => `0.0042 ${comment}`));
  }
});

it.each([
  ["an unknown alert", "ParleyProvidersSlow.enabled=false", "there is no such alert"],
  ["a threshold for an alert that has no threshold", "ParleyTargetDown.threshold=2", "has no threshold to set"],
  ["a threshold that is not a number", "ParleyProviderSlow.threshold=slow", "got string, want number"],
  ["a delay that is not a duration", "ParleyProviderSlow.for=never", "does not match pattern"],
  ["an unknown setting", "ParleyProviderSlow.severities=page", "'severities' not allowed"],
])("refuses prometheusRule.alerts with %s", async (_, setting, reason) => {
  const { code, output } = await runHelmTemplate("production", [`prometheusRule.alerts.${setting}`]);
  expect(code).not.toBe(0);
  expect(output).toContain(reason);
});

it.each([
  ["ParleyTurnsFailing", 0.07, "must be less than 1/14.4,"],
  ["ParleyFirstTokenLate", 0.07, "must be less than 1/14.4,"],
  ["ParleyTurnsFailingSlowly", 0.34, "must be less than 1/3,"],
  ["ParleyFirstTokenLateSlowly", 0.34, "must be less than 1/3,"],
])("refuses a threshold with which a condition of %s can never be true", async (alert, threshold, reason) => {
  const { code, output } = await runHelmTemplate("production", [], thresholdFlags(alert, threshold));
  expect(code).not.toBe(0);
  expect(output).toContain(`prometheusRule.alerts.${alert}.threshold: ${reason}`);
});

it("renders each dashboard in a ConfigMap with the label that Grafana's sidecar selects", async () => {
  const dashboards = new Map(dashboardFiles((await renderChart("production")).manifests));
  const folder = join(CHART, "files/dashboards");
  const files = await readdir(folder);
  expect(new Set(files)).toEqual(new Set(Object.keys(DASHBOARDS).map((name) => `${name}.json`)));
  for (const file of files) {
    const { panels } = JSON.parse(await readFile(join(folder, file), "utf8")) as { panels: object[] };
    const expectedPanels = JSON.stringify(panels).replaceAll(
      String.raw`namespace=~\"$namespace\"`,
      String.raw`namespace=\"chat\", release=\"parley\"`,
    );
    expect(JSON.parse(dashboards.get(`chat-parley-${file}`) ?? "")).toMatchObject({
      panels: JSON.parse(expectedPanels) as object[],
    });
  }
});

it("labels the scrape targets as the alerts expect", async () => {
  const [monitor] = ofKind((await renderChart("production")).manifests, "PodMonitor") as [Manifest];
  const [endpoint] = monitor.spec.podMetricsEndpoints as [{ honorLabels: boolean; relabelings: object[] }];
  expect(endpoint.honorLabels).toBe(true);
  expect(endpoint.relabelings).toEqual([
    { targetLabel: "application", replacement: "parley" },
    { sourceLabels: ["__meta_kubernetes_pod_label_app_kubernetes_io_component"], targetLabel: "service" },
    { sourceLabels: ["__meta_kubernetes_pod_label_app_kubernetes_io_instance"], targetLabel: "release" },
  ]);
  // The relabeling copies `service` from the pod's component label. The alerts select by these components.
  const { manifests } = await renderChart("production");
  const components = workloads(manifests).flatMap(({ labels, pod }) =>
    pod.containers.some(({ ports = [] }) => ports.some(({ name }) => name === "ops")) ? [componentOf(labels)] : [],
  );
  expect(new Set(components)).toEqual(new Set(["edge", "conversation", "quota", "llm-proxy"]));
});
