import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { prometheusCommands } from "@parley/test-support";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { root } from "../../system/processes.ts";
import { ALERTS_FILE, readAlerts } from "../sources.ts";

const CASES_FILES = ["alerts.test.yaml", "objectives.test.yaml"].map((file) => join(root, "deploy/prometheus", file));

type Verdict = { isOk: boolean; output: string };
type Case = { alertname: string; exp_alerts?: object[] };

/** What promtool says, and whether it is content. */
function promtool(...args: string[]): Promise<Verdict> {
  const command = prometheusCommands()?.promtool;
  if (command === undefined) throw new Error("there is no promtool on the PATH");
  return new Promise((resolve) => {
    execFile(command, args, (error, stdout, stderr) => resolve({ isOk: !error, output: stdout + stderr }));
  });
}

/** Tries every case of the alerts, which takes a few seconds of another process. */
export function tryCases(): Promise<Verdict> {
  return promtool("test", "rules", ...CASES_FILES);
}

/** The alerts by themselves. */
export function rulesSuite(tried: () => Promise<Verdict>): void {
  test("are rules that Prometheus accepts, and compose's Prometheus is configured with them", async () => {
    const rules = await promtool("check", "rules", ALERTS_FILE);
    expect(rules.isOk, rules.output).toBe(true);
    const config = await promtool("check", "config", join(root, "deploy/prometheus/prometheus.yml"));
    expect(config.isOk, config.output).toBe(true);
    expect(config.output).toContain("alerts.yaml");
  });

  test("ring where they must and are silent where they must be", async () => {
    const cases = await tried();
    expect(cases.isOk, cases.output).toBe(true);
  });

  test("each have a case in which they ring, and one in which they do not", () => {
    const cases = CASES_FILES.flatMap((file) => {
      const { tests } = parse(readFileSync(file, "utf8")) as { tests: { alert_rule_test: Case[] }[] };
      return tests.flatMap((each) => each.alert_rule_test);
    });
    const alerts = readAlerts().flatMap(({ rules }) => rules.flatMap(({ alert }) => alert ?? []));
    const named = (wanted: boolean) =>
      new Set(
        cases.filter(({ exp_alerts: alerted = [] }) => alerted.length > 0 === wanted).map((each) => each.alertname),
      );
    expect(alerts.filter((alert) => !named(true).has(alert))).toEqual([]);
    expect(alerts.filter((alert) => !named(false).has(alert))).toEqual([]);
    process.stdout.write(`${alerts.length} alerts, ${cases.length} cases: each rings and is silent where it should\n`);
  });
}
