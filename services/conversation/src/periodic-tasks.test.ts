import { expect, test } from "vitest";
import type { Config } from "./config.ts";
import { createPeriodicTasks, type PeriodicTasksDeps } from "./periodic-tasks.ts";

test("the intervals of the tasks that replicas run often vary by up to 20 %", () => {
  const settings = { leaseSeconds: 30, reconciliation: { everySeconds: 60, days: 7, minAgeSeconds: 120 } };
  const tasks = createPeriodicTasks({} as PeriodicTasksDeps, { ...settings, usageRetentionMonths: 13 } as Config);
  for (const [name, seconds] of [
    ["sweep", 5],
    ["audit usage", 300],
    ["reconcile turns with usage", 60],
    ["fill call log", 60],
    ["close months", 300],
    ["erase expired sessions of short retentions", 60],
  ] as const) {
    const interval = tasks.find((task) => task.name === name)?.intervalMs;
    const intervals = Array.from({ length: 100 }, () => (typeof interval === "function" ? interval() : interval));
    expect(new Set(intervals).size, name).toBeGreaterThan(90);
    for (const ms of intervals) {
      expect(ms, name).toBeGreaterThanOrEqual(seconds * 800);
      expect(ms, name).toBeLessThanOrEqual(seconds * 1_200);
    }
  }
});
