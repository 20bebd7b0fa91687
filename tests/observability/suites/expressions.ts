import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { startConsole, startDevelopmentSso } from "../../system/console.ts";
import { root } from "../../system/processes.ts";
import { type Fixture, startVisitors } from "../fixture.ts";
import {
  fillVariables,
  panelsOf,
  readDashboards,
  readRuleGroups,
  readsUnavailableMetrics,
  withoutThreshold,
} from "../sources.ts";

/** Replaces $__rate_interval. */
const WINDOW = "15s";
/** Longer than a minute: Prometheus evaluates subqueries such as `[10m:1m]` at whole minutes only. */
const TIMEOUT_MS = 90_000;

export function expressionsSuite(shared: () => Fixture): void {
  let fixture: Fixture;
  let visitors: { stop(): Promise<void> };
  beforeAll(() => {
    fixture = shared();
    visitors = startVisitors(fixture);
  });
  afterAll(() => visitors.stop());

  /** Evaluates the expressions repeatedly until each has returned data or the timeout passes. Returns the expressions without data. */
  async function findWithoutData(expressions: ReadonlyMap<string, string>): Promise<string[]> {
    const pending = new Map(expressions);
    const until = performance.now() + TIMEOUT_MS;
    while (pending.size > 0 && performance.now() < until) {
      for (const [name, expr] of pending) {
        if ((await fixture.prometheus.query(expr)).length > 0) pending.delete(name);
      }
      if (pending.size > 0) await sleep(500);
    }
    return [...pending].map(([name, expr]) => `${name}: ${expr}`);
  }

  test("every expression of the panels, alerts and recording rules returns data, except those on metrics of Kubernetes, certificates and shards", async () => {
    const dashboards = Object.values(readDashboards());
    const panels = dashboards.flatMap((dashboard) => panelsOf(dashboard).map((panel) => ({ dashboard, panel })));
    const panelExpressions = panels
      .flatMap(({ dashboard, panel }) =>
        panel.targets.map(
          ({ expr }, index) =>
            [`${dashboard.title} › ${panel.title} ${index + 1}`, fillVariables(expr, WINDOW)] as const,
        ),
      )
      .filter(([, expr]) => !readsUnavailableMetrics(expr));
    const rules = readRuleGroups().flatMap((group) => group.rules);
    const alertExpressions = rules.flatMap(({ alert, expr }) =>
      alert === undefined || readsUnavailableMetrics(expr) ? [] : [[alert, withoutThreshold(expr)] as const],
    );
    const recordExpressions = rules.flatMap(({ record, expr }) =>
      record === undefined ? [] : [[record, expr] as const],
    );
    const expressions = new Map([...panelExpressions, ...alertExpressions, ...recordExpressions]);
    // Two expressions with the same name would be one entry of the map.
    expect(expressions.size).toBe(panelExpressions.length + alertExpressions.length + recordExpressions.length);

    const withoutData = await findWithoutData(expressions);
    const summary = `${dashboards.length} dashboards, ${panels.length} panels, ${alertExpressions.length} alerts: ${expressions.size - withoutData.length} of ${expressions.size} expressions returned data`;
    process.stdout.write(`${summary}\n`);
    expect(withoutData).toEqual([]);
  }, 120_000);

  test("docs/metrics.md documents exactly the metrics that the services export", async () => {
    const { edges, conversation, quota, llm } = fixture.system;
    const services = [...edges, conversation, quota, llm, { name: "console", opsPort: await startIdleConsole() }];
    const exported = new Set<string>();
    for (const { name, opsPort } of services) {
      const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
      const types = new Map(
        [...text.matchAll(/^# TYPE ((?:parley|gen_ai)_\w+) (\w+)$/gm)].map(([, metric, type]) => [metric, type]),
      );
      for (const [, metric, help] of text.matchAll(/^# HELP ((?:parley|gen_ai)_\w+) (.+)$/gm))
        exported.add(`${metric} ${types.get(metric)} ${name}: ${help}`);
    }
    const document = readFileSync(join(root, "docs/metrics.md"), "utf8");
    const documented = [
      ...document.matchAll(/^\| `((?:parley|gen_ai)_\w+)` \| (\w+) \| .+? \| ([^|]+) \| (.+) \|$/gm),
    ].flatMap(([, metric, type, serviceNames = "", help]) =>
      serviceNames.split(", ").map((name) => `${metric} ${type} ${name.trim()}: ${help}`),
    );
    expect(exported).toEqual(new Set(documented));
  });
}

/** Starts a console that nobody uses, and stops it at the end of the test. Returns its ops port. */
async function startIdleConsole(): Promise<number> {
  const sso = await startDevelopmentSso();
  const unused = "http://127.0.0.1:1";
  const idle = await startConsole({ sso, conversationUrl: unused, quotaUrl: unused, edgeUrl: unused });
  onTestFinished(async () => {
    await idle.stop();
    await sso.stop();
  });
  return idle.opsPort;
}
