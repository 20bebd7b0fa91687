import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse, stringify } from "yaml";
import { root } from "../system/processes.ts";

export const ALERTS_FILE = join(root, "charts/parley/files/alerts.yaml");
const DASHBOARDS = join(root, "charts/parley/files/dashboards");

export type Rule = {
  alert?: string;
  record?: string;
  expr: string;
  for?: string;
  labels?: Record<string, string>;
};
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

/** Returns whether an expression reads series that the test system lacks: those of Kubernetes, of TLS certificates and of several shards. */
export function readsUnavailableMetrics(expr: string): boolean {
  return /\b(kube|container)_\w+\{|\bparley_certificate_|\bparley_(db|settle_wrong)_shard_|\bshard=~/.test(expr);
}

/** Removes the thresholds and `absent()` from an alert's expression. The result returns data even if the alert does not fire. */
export function withoutThreshold(expr: string): string {
  const bare = expr.replace(/\s(==|>=|<=|>|<)\s[\d.]+(\s\*\s[\d.]+)?/g, "").replaceAll(/\babsent\(([^()]+)\)/g, "$1");
  if (bare === expr) throw new Error(`no threshold in ${expr}`);
  return bare;
}

const SECONDS: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 };
/** `rate` needs a few samples, which are a second apart. */
const MIN_WINDOW_SECONDS = 4;

/**
 * Returns a copy of the group parley-causes of `groups` with all windows and delays divided by `factor`, so that an alert that takes minutes
 * fires in seconds. The thresholds stay. The label `scaled` identifies the copy.
 */
export function createScaledAlertRules(groups: readonly RuleGroup[], factor: number): string {
  const scale = (durations: string) =>
    durations.replaceAll(/(\d+)([smhd])/g, (_, count: string, unit: string) => {
      const seconds = Math.round((Number(count) * (SECONDS[unit] ?? Number.NaN)) / factor);
      return `${Math.max(MIN_WINDOW_SECONDS, seconds)}s`;
    });
  return copyCauses(groups, "scaled", { window: scale, delay: scale });
}

/** The `for` of alerts about background work, which may fail for some minutes in normal operation. */
const BACKGROUND_DELAY = "30m";

/**
 * Returns a copy of the rule group parley-causes with the real thresholds, but with windows and delays of seconds. Subqueries stay. Alerts about
 * background work keep their delay of 30 minutes, so they never fire in a test. The label `fast` identifies the copy.
 */
export function createFastAlertRules(): string {
  return copyCauses(readRuleGroups(), "fast", {
    window: (window) => (window.includes(":") ? window : "[4s]"),
    delay: (delay) => (delay === BACKGROUND_DELAY ? delay : "1s"),
  });
}

/** Copies the group parley-causes. `change` gets each window, such as `[5m]` or `[10m:1m]`, and each `for`. */
function copyCauses(
  groups: readonly RuleGroup[],
  label: string,
  change: { window(window: string): string; delay(delay: string): string },
): string {
  const causes = groups.filter(({ name }) => name === "parley-causes");
  const copies = causes.map(({ name, rules }) => ({
    name: `${name}-${label}`,
    rules: rules.map((rule) => ({
      ...rule,
      expr: rule.expr.replaceAll(/\[\d+[smhd](:\d+[smhd])?\]/g, (window) => change.window(window)),
      ...(rule.for === undefined ? {} : { for: change.delay(rule.for) }),
      labels: { ...rule.labels, [label]: "yes" },
    })),
  }));
  return stringify({ groups: copies });
}
