import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { withoutPostgres } from "./backends.ts";
import { countReplies, createLoadCheck, streamsOf, timed } from "./checks.ts";
import { type Installation, type Tenant, VISITORS } from "./installation.ts";
import { install } from "./installed.ts";
import { endpointsRemovedDuring } from "./watch.ts";

/** The components of which a lost node has a replica. */
const COMPONENTS = ["edge", "conversation", "quota", "llm-proxy"];
/** A visitor whose stream breaks sends the next message at once. By then at most one more request may reach what is gone. */
const MAX_FAILURES_PER_VISITOR = 2;

/** docs/operations/failure-modes.md: visitors get 503 until PostgreSQL responds again, and at most this much longer. */
const RECOVERY_MS = 30_000;

describe("outages on a real cluster", () => {
  let installation: Installation;
  let tenant: Tenant;

  beforeAll(async () => {
    ({ installation, tenant } = await install());
  });
  afterAll(async () => {
    await installation.remove();
  });

  it.each([24, 60])("of PostgreSQL of %d s removes no endpoint, and replies come back", async (seconds) => {
    const repliesBefore = await countReplies(installation, tenant);
    const podsBefore = await installation.pods();
    let removed: string[] = [];
    let recoveryMs = 0;
    const report = await timed(
      `PostgreSQL away for ${seconds} s under load`,
      async () => {
        let backAt = 0;
        const load = await installation.underLoad(tenant, async () => {
          removed = await endpointsRemovedDuring(async () => {
            backAt = await withoutPostgres(() => sleep(seconds * 1_000));
            await sleep(RECOVERY_MS + 10_000);
          });
        });
        recoveryMs = load.lastFailureAt - backAt;
        return load;
      },
      (load) =>
        `${streamsOf(load)}, ${removed.length} endpoints removed, last failure ${(recoveryMs / 1_000).toFixed(1)} s after its return`,
    );
    console.log(report.failures);
    expect(removed).toEqual([]);
    // Replaces and restarts no pod.
    expect(await installation.pods()).toEqual(podsBefore);
    expect(recoveryMs).toBeLessThan(RECOVERY_MS);
    expect(report.wholeSinceFailure).toBeGreaterThan(10);
    // A reply whose commit was not acknowledged in time is counted, although its visitor got an error.
    const replies = await countReplies(installation, tenant);
    expect(replies).toBeGreaterThanOrEqual(repliesBefore + report.whole);
    expect(replies).toBeLessThanOrEqual(repliesBefore + report.total);
  });

  it("a node with a replica of each service dies: only the streams that it serves break", async () => {
    const repliesBefore = await countReplies(installation, tenant);
    const pods = await installation.pods();
    const lost = COMPONENTS.map((name) => pods.find(({ component }) => component === name)?.name ?? "");
    let recoveryMs = 0;
    const report = await timed(
      "a replica of each service killed under load",
      async () => {
        let killedAt = 0;
        const load = await installation.underLoad(tenant, async () => {
          killedAt = Date.now();
          await installation.kubectl("delete", "pods", ...lost, "--grace-period=0", "--force");
          await sleep(RECOVERY_MS);
        });
        recoveryMs = Math.max(0, load.lastFailureAt - killedAt);
        return load;
      },
      (load) => `${streamsOf(load)}, last failure ${(recoveryMs / 1_000).toFixed(1)} s after the kill`,
    );
    console.log(report.failures);
    expect(report.total - report.whole).toBeLessThanOrEqual(VISITORS * MAX_FAILURES_PER_VISITOR);
    expect(recoveryMs).toBeLessThan(RECOVERY_MS);
    expect(report.wholeSinceFailure).toBeGreaterThan(10);
    const replies = await countReplies(installation, tenant);
    expect(replies).toBeGreaterThanOrEqual(repliesBefore + report.whole);
    expect(replies).toBeLessThanOrEqual(repliesBefore + report.total);
    await installation.kubectl("wait", "--for=condition=Ready", "pods", "--all", "--timeout=170s");
  });

  it("loses no stream afterwards", async () => {
    const expectWholeStreams = createLoadCheck(installation, tenant, await countReplies(installation, tenant));
    const report = await timed(
      "load after the outages",
      () => installation.underLoad(tenant, () => sleep(40_000)),
      streamsOf,
    );
    await expectWholeStreams(report);
  });
});
