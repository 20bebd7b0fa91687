import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLoadCheck, describeStreams, timed } from "./checks.ts";
import { run } from "./commands.ts";
import { CACHED_DNS, canReplaceDns, UNCACHED_DNS, useDns } from "./dns.ts";
import { type Installation, install, type Tenant } from "./installation.ts";
import type { LoadReport } from "./load.ts";

/** Longer than a DNS answer stays cached. */
const CACHE_EXPIRY_MS = 35_000;
const SERVICES = ["parley-conversation", "parley-quota", "parley-llm-proxy"];

describe("name resolution on a real cluster", () => {
  let installation: Installation;
  let tenant: Tenant;
  let checkLoad: (report: LoadReport) => Promise<void>;

  beforeAll(async () => {
    ({ installation, tenant } = await install());
    checkLoad = createLoadCheck(installation, tenant);
  });
  afterAll(async () => {
    await installation.remove();
  });

  /** Resolves a headless Service. `living` are the addresses of its pods that are not being deleted. */
  async function resolve(service: string): Promise<{ answered: string[]; living: string[] }> {
    const script = `dns.promises.resolve4(process.argv[1]).catch(() => []).then((all) => console.log(all.join(" ")))`;
    const name = `${service}.parley.svc.cluster.local`;
    const answer = await run("kubectl", [
      ...["--namespace", "backends", "exec", "deployment/visitors", "--"],
      ...["node", "--eval", script, name],
    ]);
    const pods = await installation.pods();
    const living = pods.filter(({ component, isTerminating }) => service === `parley-${component}` && !isTerminating);
    return { answered: answer.trim().split(" ").filter(Boolean), living: living.map(({ address }) => address) };
  }

  /** `staleSamples` is the number of DNS answers that named a pod that was gone or being deleted. */
  async function restartUnderLoad(
    name: string,
  ): Promise<{ report: LoadReport; samples: number; staleSamples: number }> {
    let samples = 0;
    let staleSamples = 0;
    const report = await timed(
      name,
      () =>
        installation.underLoad(tenant, async () => {
          // Fills the cache. An answer stays cached for 30 s, but a deleted pod serves for only 5 s (preStopSeconds).
          for (const service of SERVICES) await resolve(service);
          await installation.kubectl("rollout", "restart", ...SERVICES.map((each) => `deployment/${each}`));
          const restarted = Promise.all(
            SERVICES.map((each) => installation.kubectl("rollout", "status", `deployment/${each}`, "--timeout=170s")),
          ).then(() => installation.waitForTerminatingPods());
          let endMs = Number.POSITIVE_INFINITY;
          const ended = restarted.finally(() => {
            endMs = performance.now() + CACHE_EXPIRY_MS;
          });
          // Otherwise a rejection of `ended` would be unhandled if the loop below throws.
          ended.catch(() => undefined);
          while (performance.now() < endMs) {
            for (const service of SERVICES) {
              const { answered, living } = await resolve(service);
              samples++;
              if (answered.some((address) => !living.includes(address))) staleSamples++;
            }
            await sleep(1_000);
          }
          await ended;
        }),
      (result) => `${describeStreams(result)}, ${staleSamples} of ${samples} DNS answers named a deleted pod`,
    );
    return { report, samples, staleSamples };
  }

  it("loses no stream in a restart while cached answers name deleted pods", async () => {
    const { report, staleSamples } = await restartUnderLoad(
      "restart of three services with DNS answers cached for 30 s",
    );
    expect(staleSamples).toBeGreaterThan(0);
    await checkLoad(report);
  });

  it("loses no stream in a restart without a DNS cache", async ({ skip }) => {
    skip(!(await canReplaceDns()), "the tests do not change this cluster's DNS");
    await useDns(UNCACHED_DNS);
    try {
      // Waits until the last cached answers have expired.
      await sleep(CACHE_EXPIRY_MS);
      const { report, samples, staleSamples } = await restartUnderLoad("restart of three services without a DNS cache");
      // A pod may be deleted between the two reads of a sample.
      expect(staleSamples).toBeLessThan(samples / 10);
      await checkLoad(report);
    } finally {
      await useDns(CACHED_DNS);
    }
  });
});
