import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { DASHBOARDS } from "../../deploy/grafana/dashboards.ts";
import { ROOT } from "../run-tool.ts";
import { rulesOf } from "./dashboards-document.ts";
import { documentedMetrics } from "./metrics-document.ts";
import { observabilityProblems } from "./outputs.ts";

const RUNBOOKS = "docs/operations/runbooks";

const rules = rulesOf(await readFile(join(ROOT, "charts/parley/files/alerts.yaml"), "utf8"));
const alerts = rules.filter((rule) => rule.alert !== undefined);
const panels = Object.values(DASHBOARDS).flatMap(({ rows }) => rows.flatMap((row) => row.panels));

test("the generated files are up to date", async () => {
  expect(await observabilityProblems()).toEqual([]);
});

test("each alert has a runbook, and each runbook an alert", async () => {
  const pages = (await readdir(join(ROOT, RUNBOOKS))).sort();
  expect(pages).toEqual(alerts.map(({ alert }) => `${alert}.md`).sort());
  for (const { alert, annotations } of alerts) expect(annotations?.runbook_url).toBe(`${RUNBOOKS}/${alert}.md`);
});

test("panels and runbooks mention only existing panels and alerts", async () => {
  const pages = alerts.map(({ alert }) => readFile(join(ROOT, RUNBOOKS, `${alert}.md`), "utf8"));
  const texts = [...panels.map(({ action, normal }) => `${action} ${normal}`), ...(await Promise.all(pages))].join(
    "\n",
  );
  // "Status → Targets" is a page of Prometheus.
  const titles = new Set([...panels.map(({ title }) => title), "Status → Targets"]);
  const mentionedPanels = [...texts.matchAll(/(?<!\w)_([A-Z][^_\n]*)_(?!\w)/g)].map(([, title = ""]) => title);
  expect(mentionedPanels.length).toBeGreaterThan(panels.length / 2);
  expect(mentionedPanels.filter((title) => !titles.has(title))).toEqual([]);
  const names = new Set(alerts.map(({ alert }) => alert));
  expect(texts.match(/\bParley[A-Z]\w+/g)?.filter((name) => !names.has(name))).toEqual([]);
});

test("dashboards and alerts use only exported metrics", () => {
  const exported = new Set(
    documentedMetrics().flatMap(({ name, type }) =>
      type === "histogram" ? [`${name}_bucket`, `${name}_count`, `${name}_sum`] : [name],
    ),
  );
  const exprs = [...panels.flatMap(({ queries }) => queries.map(({ expr }) => expr)), ...rules.map(({ expr }) => expr)];
  const used = new Set(exprs.flatMap((expr) => expr.match(/\b(?:parley|gen_ai_client)_\w+/g) ?? []));
  expect([...used].filter((name) => !exported.has(name))).toEqual([]);
});
