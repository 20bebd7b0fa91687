import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { root } from "../../system/processes.ts";
import { filledIn, panelsOf, readAlerts, readDashboards, withoutThreshold } from "../sources.ts";
import { type Stage, startVisitors } from "../stage.ts";

const WINDOW = "15s";
const PATIENCE_MS = 60_000;

/** Every panel and every alert finds what it asks for, while visitors of every kind are there. */
export function expressionsSuite(shared: () => Stage): void {
  let stage: Stage;
  let visitors: { stop(): Promise<void> };
  beforeAll(() => {
    stage = shared();
    visitors = startVisitors(stage);
  });
  afterAll(() => visitors.stop());

  /** Those that gave no value, asked again and again until all have, or the time is up. */
  async function withoutData(expressions: ReadonlyMap<string, string>): Promise<string[]> {
    const waiting = new Map(expressions);
    const until = performance.now() + PATIENCE_MS;
    while (waiting.size > 0 && performance.now() < until) {
      for (const [name, expr] of waiting) {
        if ((await stage.prometheus.query(expr)).length > 0) waiting.delete(name);
      }
      if (waiting.size > 0) await sleep(500);
    }
    return [...waiting].map(([name, expr]) => `${name}: ${expr}`);
  }

  test("every expression of every panel and of every alert returns data", async () => {
    const dashboards = Object.values(readDashboards());
    const panels = dashboards.flatMap((dashboard) => panelsOf(dashboard).map((panel) => ({ dashboard, panel })));
    const ofPanels = panels.flatMap(({ dashboard, panel }) =>
      panel.targets.map(
        ({ expr }, index) => [`${dashboard.title} › ${panel.title} ${index + 1}`, filledIn(expr, WINDOW)] as const,
      ),
    );
    const rules = readAlerts().flatMap((group) => group.rules);
    const alerts = rules.flatMap(({ alert, expr }) =>
      alert === undefined ? [] : [[alert, withoutThreshold(expr)] as const],
    );
    const records = rules.flatMap(({ record, expr }) => (record === undefined ? [] : [[record, expr] as const]));
    const expressions = new Map([...ofPanels, ...alerts, ...records]);
    expect(expressions.size).toBe(ofPanels.length + alerts.length + records.length);

    const empty = await withoutData(expressions);
    const count = `${dashboards.length} dashboards, ${panels.length} panels, ${alerts.length} alerts: ${expressions.size - empty.length} of ${expressions.size} expressions returned data`;
    process.stdout.write(`${count}\n`);
    expect(empty).toEqual([]);
  }, 120_000);

  test("what the services serve is what docs/metrics.md documents, no more and no less", async () => {
    const services = [...stage.system.edges, stage.system.conversation, stage.system.quota, stage.system.llm];
    const served = new Set<string>();
    for (const { name, opsPort } of services) {
      const text = await (await fetch(`http://127.0.0.1:${opsPort}/metrics`)).text();
      const types = new Map(
        [...text.matchAll(/^# TYPE (parley_\w+) (\w+)$/gm)].map(([, metric, type]) => [metric, type]),
      );
      for (const [, metric, help] of text.matchAll(/^# HELP (parley_\w+) (.+)$/gm))
        served.add(`${metric} ${types.get(metric)} ${name}: ${help}`);
    }
    const document = readFileSync(join(root, "docs/metrics.md"), "utf8");
    const documented = [...document.matchAll(/^\| `(parley_\w+)` \| (\w+) \| .+? \| ([^|]+) \| (.+) \|$/gm)].flatMap(
      ([, metric, type, of = "", help]) => of.split(", ").map((name) => `${metric} ${type} ${name.trim()}: ${help}`),
    );
    expect(served).toEqual(new Set(documented));
  });
}
