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

/** The dashboards as Grafana gets them, by the name of their file. */
export function readDashboards(): Record<string, Dashboard> {
  const files = readdirSync(DASHBOARDS).sort();
  return Object.fromEntries(
    files.map((file) => [
      file.replace(/\.json$/, ""),
      JSON.parse(readFileSync(join(DASHBOARDS, file), "utf8")) as Dashboard,
    ]),
  );
}

/** The panels that show something, which rows do not. */
export function panelsOf(dashboard: Dashboard): Panel[] {
  return dashboard.panels.filter((panel) => panel.type !== "row");
}

export function readAlerts(): RuleGroup[] {
  return (parse(readFileSync(ALERTS_FILE, "utf8")) as { groups: RuleGroup[] }).groups;
}

/** An expression of a panel with the dashboard's variables filled in. */
export function filledIn(expr: string, window: string): string {
  return expr.replaceAll("$namespace", ".*").replaceAll("$__rate_interval", window);
}

/** What an alert looks at, whether or not it is time to ring. */
export function withoutThreshold(expr: string): string {
  const bare = expr.replace(/\s(==|>=|<=|>|<)\s[\d.]+(\s\*\s[\d.]+)?/g, "").replaceAll(/\babsent\(([^()]+)\)/g, "$1");
  if (bare === expr) throw new Error(`no threshold in ${expr}`);
  return bare;
}

/**
 * The alerts that name causes, for a test that has no ten minutes: windows of a few seconds and next to no patience. Thresholds are what they
 * are. The label tells them from the real ones.
 */
export function hastyCauses(): string {
  const causes = readAlerts().filter(({ name }) => name === "parley-causes");
  const groups = causes.map(({ name, rules }) => ({
    name: `${name}-hasty`,
    rules: rules.map((rule) => ({
      ...rule,
      expr: rule.expr.replaceAll(/\[\d+m\]/g, "[4s]"),
      ...(rule.for === undefined ? {} : { for: "1s" }),
      labels: { hasty: "yes" },
    })),
  }));
  return stringify({ groups });
}
