import { expect, test } from "vitest";
import { parse } from "yaml";
import { INCIDENTS, incidentRows } from "../tests/cluster/incidents.ts";
import { createScaledAlertRules, type RuleGroup, readRuleGroups } from "../tests/observability/sources.ts";
import { readSources } from "./repository.ts";

/** Returns the cells of a table's rows, without the header. */
function readTable(text: string): string[][] {
  const rows = text.split("\n").filter((line) => line.startsWith("| "));
  const cells = rows.map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  return cells.slice(2);
}

test("the page of incidents has the table that the cluster tests check", async () => {
  const [page] = await readSources("docs/operations/incidents.md");
  const rows = readTable(page?.text ?? "");
  expect(rows.length).toBeGreaterThanOrEqual(20);
  // An alert's name is a link to its runbook.
  const withoutLinks = rows.map((row) =>
    row.map((cell, index) => (index === 4 ? cell.replaceAll(/\[(\w+)\]\(runbooks\/\1\.md\)/g, "$1") : cell)),
  );
  expect(withoutLinks).toEqual(incidentRows());
});

test("the incidents name existing alerts", () => {
  const alerts = readRuleGroups().flatMap(({ rules }) => rules.flatMap(({ alert }) => alert ?? []));
  const named = Object.values(INCIDENTS).flatMap((incident) => [
    ...incident.alerts.map(({ alert }) => alert),
    ...incident.consequences,
    ...incident.immediate,
  ]);
  expect(named.length).toBeGreaterThan(20);
  expect(named.filter((name) => !alerts.includes(name))).toEqual([]);
});

test("the scaled alerts have shorter windows and delays, and the same thresholds", () => {
  const { groups } = parse(createScaledAlertRules(readRuleGroups(), 15)) as { groups: RuleGroup[] };
  const rules = new Map(groups.flatMap((group) => group.rules).map((rule) => [rule.alert, rule]));
  expect(rules.size).toBeGreaterThan(30);
  expect([...rules.values()].filter(({ expr }) => /\[\d+[mhd]|:\d+[mhd]\]/.test(expr))).toEqual([]);
  const failing = rules.get("ParleyProviderFailing");
  expect(failing?.for).toBe("20s");
  expect(failing?.expr).toContain('provider_(error|timeout|rate_limited)"}[12s]');
  expect(failing?.expr).toContain("> 0.1 # threshold");
  expect(rules.get("ParleyCallLogFailing")?.expr).toContain("[40s:4s]");
});
