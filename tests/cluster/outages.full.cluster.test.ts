import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { withoutDeployment, withoutPostgres } from "./backends.ts";
import { countReplies, createLoadCheck, describeStreams, timed } from "./checks.ts";
import { type Installation, install, type Tenant, VISITORS } from "./installation.ts";
import type { LoadReport } from "./load.ts";
import { endpointsRemovedDuring } from "./watch.ts";

/** Components of which one pod is deleted, to simulate the loss of a node or a zone. */
const COMPONENTS = ["edge", "conversation", "quota", "llm-proxy"];
/** A stream may break, and half a second later the visitor's next request may still reach a dead pod. */
const MAX_FAILURES_PER_VISITOR = 2;

/** Limit in docs/operations/failure-modes.md: how long visitors may still get 503 after a service responds again. */
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

  it.each([24, 60])("PostgreSQL away for %d s: no endpoint is removed, and replies succeed again", async (seconds) => {
    const podsBefore = await installation.pods();
    const { removed } = await underOutage(`PostgreSQL away for ${seconds} s under load`, () =>
      withoutPostgres(() => sleep(seconds * 1_000)),
    );
    expect(removed).toEqual([]);
    // No pod is replaced or restarted.
    expect(await installation.pods()).toEqual(podsBefore);
  });

  it("the conversation service away for 60 s: no endpoint of another component is removed, the edges return 503, and replies succeed again", async () => {
    const { load, removed } = await underOutage("conversation away for 60 s under load", () =>
      withoutDeployment("parley", "parley-conversation", () => sleep(60_000)),
    );
    expect(removed.filter((endpoint) => !endpoint.startsWith("parley-conversation"))).toEqual([]);
    const refusals = Object.keys(load.failures).filter((failure) => failure.startsWith("status 503"));
    expect(refusals.length).toBeGreaterThan(0);
    // The body shows that the edge, and not a load balancer without endpoints, sent the response.
    for (const refusal of refusals) expect(refusal).toContain('"error":"unavailable"');
  });

  it("Redis away for 24 s: no stream fails", async () => {
    const checkLoad = createLoadCheck(installation, tenant, await countReplies(installation, tenant));
    const report = await timed(
      "Redis away for 24 s under load",
      () =>
        installation.underLoad(tenant, async () => {
          await withoutDeployment("redis", "redis", () => sleep(24_000));
        }),
      describeStreams,
    );
    await checkLoad(report);
  });

  it("a node with a replica of each service dies: on average, at most two streams per visitor fail", async () => {
    const { load } = await underOutage("a replica of each service killed under load", async () => {
      const killedAt = Date.now();
      await killReplicas();
      return killedAt;
    });
    expect(load.total - load.complete).toBeLessThanOrEqual(VISITORS * MAX_FAILURES_PER_VISITOR);
    await installation.kubectl("wait", "--for=condition=Ready", "pods", "--all", "--timeout=170s");
  });

  it("a zone with a replica of each service and PostgreSQL dies: replies succeed again", async () => {
    await underOutage("a replica of each service and PostgreSQL killed under load, PostgreSQL away for 24 s", () =>
      withoutPostgres(async () => {
        await killReplicas();
        await sleep(24_000);
      }),
    );
    await installation.kubectl("wait", "--for=condition=Ready", "pods", "--all", "--timeout=170s");
  });

  it("after the outages, no stream fails", async () => {
    const checkLoad = createLoadCheck(installation, tenant, await countReplies(installation, tenant));
    const report = await timed(
      "load after the outages",
      () => installation.underLoad(tenant, () => sleep(40_000)),
      describeStreams,
    );
    await checkLoad(report);
  });

  /**
   * Runs an outage under load. `outage` returns the time at which it ended. Checks that replies succeed again within RECOVERY_MS, and
   * that each complete reply is counted.
   */
  async function underOutage(
    name: string,
    outage: () => Promise<number>,
  ): Promise<{ load: LoadReport; removed: string[] }> {
    const repliesBefore = await countReplies(installation, tenant);
    let removed: string[] = [];
    let recoveryMs = 0;
    const load = await timed(
      name,
      async () => {
        let endedAt = 0;
        const report = await installation.underLoad(tenant, async () => {
          removed = await endpointsRemovedDuring(async () => {
            endedAt = await outage();
            await sleep(RECOVERY_MS + 10_000);
          });
        });
        recoveryMs = Math.max(0, report.lastFailureAt - endedAt);
        return report;
      },
      (report) =>
        `${describeStreams(report)}, ${removed.length} endpoints removed, last failure ${(recoveryMs / 1_000).toFixed(1)} s after the outage`,
    );
    console.log(load.failures);
    expect(recoveryMs).toBeLessThan(RECOVERY_MS);
    expect(load.completeSinceFailure).toBeGreaterThan(10);
    // A reply may be counted although its visitor got an error: the reply was committed, but the edge got no acknowledgement in time.
    const replies = await countReplies(installation, tenant);
    expect(replies).toBeGreaterThanOrEqual(repliesBefore + load.complete);
    expect(replies).toBeLessThanOrEqual(repliesBefore + load.total);
    return { load, removed };
  }

  async function killReplicas(): Promise<void> {
    const pods = await installation.pods();
    const lost = COMPONENTS.map((name) => pods.find(({ component }) => component === name)?.name ?? "");
    await installation.kubectl("delete", "pods", ...lost, "--grace-period=0", "--force");
  }
});
