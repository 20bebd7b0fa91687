import { setTimeout as sleep } from "node:timers/promises";
import { isFullRun, isRequirementMet } from "@parley/test-support";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { shuffle } from "../../system/random.ts";
import type { FiringAlert } from "../../system/servers/prometheus.ts";
import { createFaults, type Fault, matchesAlert } from "../faults.ts";
import { type Fixture, startVisitors } from "../fixture.ts";

const ALERT_TIMEOUT_MS = 90_000;
/** After a slow measurement, a gauge keeps its value for 20 times as long as the measurement took (createCachedMeasurement). */
const QUIET_TIMEOUT_MS = 180_000;
const TEST_TIMEOUT_MS = 300_000;

/** The quick run injects the faults of a group together. No fault of a group hides another. */
const QUICK_GROUPS = [
  ["provider slow", "provider down", "provider key and widget key revoked", "cap reached", "Redis down"],
  ["one replica stalled", "settle blocked", "database slow"],
];
const ALL_FAULTS = [
  ...QUICK_GROUPS.flat(),
  "quota service down",
  ...(isRequirementMet("nginx") ? ["proxy buffering"] : []),
];

export function faultsSuite(shared: () => Fixture): void {
  let fixture: Fixture;
  let faults: Map<string, Fault>;
  let visitors: { stop(): Promise<void> };
  beforeAll(async () => {
    fixture = shared();
    const { admin } = fixture.system;
    // Raises the caps of these tenants, because their usage makes cap alerts fire. The fault "cap reached" uses another tenant.
    for (const { workspaceId } of [fixture.tenants.full, fixture.tenants.near])
      await admin.workspaces.setPlan({ workspaceId, plan: "large" });
    faults = new Map((await createFaults(fixture)).map((fault) => [fault.name, fault]));
    expect(ALL_FAULTS.filter((name) => !faults.has(name))).toEqual([]);
    visitors = startVisitors(fixture, "succeeding");
  });
  afterAll(() => visitors.stop());

  // The label `fast` marks the fixture's copy of the alert group parley-causes. The windows of the copy are seconds long.
  const firingAlerts = async () =>
    (await fixture.prometheus.listFiringAlerts()).filter(({ labels }) => labels.fast === "yes");

  async function waitForAlerts(
    areExpected: (firing: FiringAlert[]) => boolean,
    problem: string,
    timeoutMs = ALERT_TIMEOUT_MS,
  ): Promise<void> {
    const until = performance.now() + timeoutMs;
    let firing = await firingAlerts();
    while (!areExpected(firing)) {
      const list = firing.map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`).join("\n");
      if (performance.now() > until) throw new Error(`${problem}; firing alerts:\n${list || "none"}`);
      await sleep(200);
      firing = await firingAlerts();
    }
  }

  const groups = isFullRun ? shuffle(ALL_FAULTS).map((name) => [name]) : QUICK_GROUPS;

  test.each(groups.map((names) => ({ names, title: names.join(", ") })))(
    "$title: the expected alerts fire, and no other alerts except those for consequences of the faults",
    async ({ names }) => {
      const group = names.flatMap((name) => faults.get(name) ?? []);
      await waitForAlerts((firing) => firing.length === 0, "an alert fires without a fault", QUIET_TIMEOUT_MS);

      const repaired = new AbortController();
      const injected: Fault[] = [];
      onTestFinished(async () => {
        repaired.abort();
        await Promise.all(injected.map((fault) => fault.repair()));
      });
      for (const fault of group) {
        await fault.inject(repaired.signal);
        injected.push(fault);
      }
      const expected = group.flatMap((fault) => fault.alerts);
      const allowed = new Set(group.flatMap(({ consequences = [] }) => consequences));
      const isExpected = (alert: FiringAlert) => expected.some((each) => matchesAlert(each, alert));
      await waitForAlerts(
        (firing) =>
          expected.every((each) => firing.some((alert) => matchesAlert(each, alert))) &&
          firing.every((alert) => isExpected(alert) || allowed.has(alert.name)),
        `expected for ${names.join(", ")}: ${JSON.stringify(expected)}`,
      );
      await Promise.all(group.map((fault) => fault.waitForPanelOrDoctor?.()));
      for (const fault of group) {
        const alerts = fault.alerts.map(({ alert, labels = {} }) => [alert, ...Object.values(labels)].join(" "));
        process.stdout.write(`${fault.name}: ${alerts.join(", ") || "no alert; parley doctor reports it"}\n`);
      }
    },
    TEST_TIMEOUT_MS,
  );

  test(
    "no alert fires after all faults are repaired",
    async () => {
      await waitForAlerts((firing) => firing.length === 0, "an alert fires after the repair");
      expect(await firingAlerts()).toEqual([]);
    },
    TEST_TIMEOUT_MS,
  );
}
