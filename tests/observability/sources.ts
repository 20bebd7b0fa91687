import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { root } from "../system/processes.ts";

export const ALERTS_FILE = join(root, "charts/parley/files/alerts.yaml");
const DASHBOARDS = join(root, "charts/parley/files/dashboards");

export type Rule = { alert?: string; record?: string; expr: string; for?: string };
export type RuleGroup = { name: string; rules: Rule[] };
export type Panel = { type: string; title: string; targets: { expr: string }[] };
export type Dashboard = { title: string; panels: Panel[] };

/** Returns the dashboards. The keys are the file names without extension. */
export function readDashboards(): Record<string, Dashboard> {
  const files = readdirSync(DASHBOARDS).sort();
  return Object.fromEntries(
    files.map((file) => [
      file.replace(/\.json$/, ""),
      JSON.parse(readFileSync(join(DASHBOARDS, file), "utf8")) as Dashboard,
    ]),
  );
}

/** Leaves out rows, which have no expressions. */
export function panelsOf(dashboard: Dashboard): Panel[] {
  return dashboard.panels.filter((panel) => panel.type !== "row");
}

export function readRuleGroups(): RuleGroup[] {
  return (parse(readFileSync(ALERTS_FILE, "utf8")) as { groups: RuleGroup[] }).groups;
}

export function fillVariables(expr: string, window: string): string {
  return expr.replaceAll("$namespace", ".*").replaceAll("$__rate_interval", window);
}

/** Returns whether an expression reads metrics that the test system does not export: those of Kubernetes and of TLS certificates. */
export function readsUnavailableMetrics(expr: string): boolean {
  return /\b(kube|container)_\w+\{|\bparley_certificate_/.test(expr);
}

/** Removes the thresholds and `absent()` from an alert's expression. The result returns data even if the alert does not fire. */
export function withoutThreshold(expr: string): string {
  const bare = expr.replace(/\s(==|>=|<=|>|<)\s[\d.]+(\s\*\s[\d.]+)?/g, "").replaceAll(/\babsent\(([^()]+)\)/g, "$1");
  if (bare === expr) throw new Error(`no threshold in ${expr}`);
  return bare;
}

/** The `for` of alerts about background work, which may fail for some minutes in normal operation. */
const BACKGROUND_DELAY = "30m";

/**
 * Returns a copy of the rule group parley-causes with the real thresholds, but with windows and delays of seconds. Alerts about background work
 * keep their delay of 30 minutes, so they never fire in a test. The label `fast` identifies the copy.
 */
export function createFastAlertRules(): string {
  const causes = readRuleGroups().filter(({ name }) => name === "parley-causes");
  const groups = causes.map(({ name, rules }) => ({
    name: `${name}-fast`,
    rules: rules.map((rule) => ({
      ...rule,
      expr: rule.expr.replaceAll(/\[\d+[hm]\]/g, "[4s]"),
      ...(rule.for === undefined || rule.for === BACKGROUND_DELAY ? {} : { for: "1s" }),
      labels: { fast: "yes" },
    })),
  }));
  return stringify({ groups });
}
