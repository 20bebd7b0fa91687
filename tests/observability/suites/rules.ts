import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { prometheusCommands } from "@parley/test-support";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { root } from "../../system/processes.ts";
import { ALERTS_FILE, readRuleGroups } from "../sources.ts";

const CASES_FILES = ["alerts.test.yaml", "incidents.test.yaml", "objectives.test.yaml"].map((file) =>
  join(root, "deploy/prometheus", file),
);

type PromtoolResult = { isOk: boolean; output: string };
/** A test case for promtool. Without `exp_alerts`, the alert must not fire. */
type Case = { alertname: string; exp_alerts?: object[] };

function promtool(...args: string[]): Promise<PromtoolResult> {
  const command = prometheusCommands()?.promtool;
  if (command === undefined) throw new Error("promtool is not on the PATH");
  return new Promise((resolve) => {
    execFile(command, args, (error, stdout, stderr) => resolve({ isOk: !error, output: stdout + stderr }));
  });
}

/** Takes about 20 seconds. */
export function runAlertCases(): Promise<PromtoolResult> {
  return promtool("test", "rules", ...CASES_FILES);
}

export function rulesSuite(caseResult: () => Promise<PromtoolResult>): void {
  test("Prometheus accepts the rules, and the configuration for docker compose loads them", async () => {
    const rules = await promtool("check", "rules", ALERTS_FILE);
    expect(rules.isOk, rules.output).toBe(true);
    const config = await promtool("check", "config", join(root, "deploy/prometheus/prometheus.yml"));
    expect(config.isOk, config.output).toBe(true);
    expect(config.output).toContain("alerts.yaml");
  });

  test("alerts fire and stay silent as their cases expect", async () => {
    const result = await caseResult();
    expect(result.isOk, result.output).toBe(true);
  });

  test("every alert has a case in which it fires and one in which it does not", () => {
    const cases = CASES_FILES.flatMap((file) => {
      const { tests } = parse(readFileSync(file, "utf8")) as { tests: { alert_rule_test: Case[] }[] };
      return tests.flatMap((each) => each.alert_rule_test);
    });
    const alerts = readRuleGroups().flatMap(({ rules }) => rules.flatMap(({ alert }) => alert ?? []));
    const alertsInCases = (isFiring: boolean) =>
      new Set(
        cases.filter(({ exp_alerts: alerted = [] }) => alerted.length > 0 === isFiring).map((each) => each.alertname),
      );
    expect(alerts.filter((alert) => !alertsInCases(true).has(alert))).toEqual([]);
    expect(alerts.filter((alert) => !alertsInCases(false).has(alert))).toEqual([]);
    process.stdout.write(`${alerts.length} alerts, ${cases.length} cases\n`);
  });
}
