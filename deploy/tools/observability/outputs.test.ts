import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { DASHBOARDS } from "../../grafana/dashboards.ts";
import { ROOT } from "../run-tool.ts";
import { documentedMetrics } from "./metrics-document.ts";
import { observabilityProblems } from "./outputs.ts";

const RUNBOOKS = "docs/operations/runbooks";

type Rule = { alert?: string; record?: string; expr: string; annotations?: { runbook_url?: string } };

const alertsText = await readFile(join(ROOT, "charts/parley/files/alerts.yaml"), "utf8");
const rules = (parse(alertsText) as { groups: { rules: Rule[] }[] }).groups.flatMap((group) => group.rules);
const alerts = rules.filter((rule) => rule.alert !== undefined);

test("the generated files are up to date", async () => {
  expect(await observabilityProblems()).toEqual([]);
});

test("each alert has its runbook, and each runbook its alert", async () => {
  const pages = (await readdir(join(ROOT, RUNBOOKS))).sort();
  expect(pages).toEqual(alerts.map(({ alert }) => `${alert}.md`).sort());
  for (const { alert, annotations } of alerts) expect(annotations?.runbook_url).toBe(`${RUNBOOKS}/${alert}.md`);
});

test.each(alerts.map(({ alert }) => String(alert)))(
  "the runbook of %s says what it means, how to see it and how to mend it",
  async (alert) => {
    const page = await readFile(join(ROOT, RUNBOOKS, `${alert}.md`), "utf8");
    const headings = [...page.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual([alert, "What it means", "How to see", "How to mend"]);
  },
);

test("no dashboard and no alert asks for a metric that nobody has", () => {
  const known = new Set(
    documentedMetrics().flatMap(({ name, type }) =>
      type === "histogram" ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
    ),
  );
  const panels = Object.values(DASHBOARDS).flatMap(({ rows }) => rows.flatMap((row) => row.panels));
  const exprs = [...panels.flatMap(({ queries }) => queries.map(({ expr }) => expr)), ...rules.map(({ expr }) => expr)];
  const asked = new Set(exprs.flatMap((expr) => expr.match(/\bparley_\w+/g) ?? []));
  expect([...asked].filter((name) => !known.has(name))).toEqual([]);
});
