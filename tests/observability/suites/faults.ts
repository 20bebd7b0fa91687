import { setTimeout as sleep } from "node:timers/promises";
import { isFull, isMet } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { FiringAlert } from "../../system/prometheus.ts";
import { type Fault, isNamed, tenFaults } from "../faults.ts";
import { type Stage, startVisitors } from "../stage.ts";

const PATIENCE_MS = 90_000;
const TIMEOUT_MS = 300_000;

/**
 * What goes wrong is named, and nothing else is. In the short form several faults at once, so chosen that none hides another; in the full one
 * each alone, in any order.
 */
const TOGETHER = [
  ["provider slow", "provider down", "key revoked", "cap reached", "Redis gone"],
  ["one replica stalled", "settle blocked", "database slow"],
  ["quota service gone", "proxy buffering"],
];

export function faultsSuite(shared: () => Stage): void {
  let stage: Stage;
  let faults: Map<string, Fault>;
  let visitors: { stop(): Promise<void> };
  beforeAll(async () => {
    stage = shared();
    const { admin } = stage.system;
    // From here on nobody is near a cap.
    for (const { workspaceId } of [stage.cast.full, stage.cast.near])
      await admin.workspaces.setPlan({ workspaceId, plan: "large" });
    faults = new Map((await tenFaults(stage)).map((fault) => [fault.name, fault]));
    const missing = TOGETHER.flat().filter(
      (name) => !faults.has(name) && (name !== "proxy buffering" || isMet("nginx")),
    );
    expect(missing).toEqual([]);
    visitors = startVisitors(stage, "well");
  });
  afterAll(() => visitors.stop());

  const ringing = async () => (await stage.prometheus.firing()).filter(({ labels }) => labels.hasty === "yes");

  async function rings(wanted: (firing: FiringAlert[]) => boolean, what: string): Promise<void> {
    const until = performance.now() + PATIENCE_MS;
    let firing = await ringing();
    while (!wanted(firing)) {
      const heard = firing.map(({ name, labels }) => `${name} ${JSON.stringify(labels)}`).join("\n");
      if (performance.now() > until) throw new Error(`${what}; ringing are\n${heard || "none"}`);
      await sleep(200);
      firing = await ringing();
    }
  }

  const groups = isFull ? shuffled(TOGETHER.flat()).map((name) => [name]) : TOGETHER;

  test.each(groups.map((names) => ({ names, what: names.join(", ") })))(
    "$what: named, and nothing else",
    async ({ names }) => {
      // One may be left out: where there is no nginx there is no proxy that buffers.
      const broken = names.flatMap((name) => faults.get(name) ?? []);
      await rings((firing) => firing.length === 0, "something rings although all is well");

      const mended = new AbortController();
      for (const fault of broken) await fault.inject(mended.signal);
      const expected = broken.flatMap((fault) => fault.rings);
      const allowed = new Set(broken.flatMap(({ consequences = [] }) => consequences));
      const isExpected = (alert: FiringAlert) => expected.some((named) => isNamed(named, alert));
      await rings(
        (firing) =>
          expected.every((named) => firing.some((alert) => isNamed(named, alert))) &&
          firing.every((alert) => isExpected(alert) || allowed.has(alert.name)),
        `not what ${names.join(", ")} should ring: ${JSON.stringify(expected)}`,
      );
      await Promise.all(broken.map((fault) => fault.seen?.()));
      mended.abort();
      await Promise.all(broken.map((fault) => fault.mend()));
      for (const fault of broken) {
        const named = fault.rings.map(({ alert, labels = {} }) => [alert, ...Object.values(labels)].join(" "));
        process.stdout.write(`${fault.name}: ${named.join(", ") || "the doctor"}\n`);
      }
    },
    TIMEOUT_MS,
  );

  test(
    "once all is mended nothing rings",
    async () => {
      await rings((firing) => firing.length === 0, "something rings although all is mended");
      expect(await ringing()).toEqual([]);
    },
    TIMEOUT_MS,
  );
}

function shuffled<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, at: Math.random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
