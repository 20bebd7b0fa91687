import { parse } from "yaml";
import { DASHBOARDS } from "../../deploy/grafana/dashboards.ts";
import type { Dashboard } from "../../deploy/grafana/panel.ts";
import { markdownTable } from "../markdown-table.ts";
import { replaceSection } from "../section.ts";

export type Rule = {
  alert?: string;
  record?: string;
  expr: string;
  for?: string;
  labels?: { severity: string };
  annotations?: { summary: string; runbook_url: string };
};

export function rulesOf(alertsYaml: string): Rule[] {
  return (parse(alertsYaml) as { groups: { rules: Rule[] }[] }).groups.flatMap(({ rules }) => rules);
}

/** Regenerates the tables of alerts and panels in `document`, the text of docs/operations/dashboards.md. */
export function dashboardsDocument(document: string, alertsYaml: string): string {
  const panels = Object.values(DASHBOARDS).map(panelTables).join("\n\n");
  return replaceSection(replaceSection(document, "alerts", alertTable(alertsYaml)), "panels", panels);
}

function alertTable(alertsYaml: string): string {
  const rows = rulesOf(alertsYaml).flatMap(({ alert, expr, for: delay, labels, annotations }) => {
    if (alert === undefined) return [];
    const [, number, unit] = /([\d.]+) # threshold (.+)/.exec(expr) ?? [];
    const threshold = number === undefined ? "–" : `${number}, ${unit}`;
    const summary = String(annotations?.summary).replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, "`$1`");
    return [[linkAlerts(alert), String(labels?.severity), delay ?? "–", threshold, summary]];
  });
  return markdownTable(["alert", "severity", "for", "threshold", "meaning"], rows);
}

function panelTables({ title, description, rows }: Dashboard): string {
  const tables = rows.map(({ title: row, panels }) => {
    const cells = panels.map(({ title: panel, shows, normal, action }) => [panel, shows, normal, linkAlerts(action)]);
    return `#### ${row}\n\n${markdownTable(["panel", "what it shows", "what is normal", "when to act"], cells)}`;
  });
  return [`### ${title.replace("Parley / ", "")}`, description, ...tables].join("\n\n");
}

function linkAlerts(text: string): string {
  return text.replaceAll(/\bParley[A-Z]\w+/g, "[$&](runbooks/$&.md)");
}
