import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLoadCheck, streamsOf, timed } from "./checks.ts";
import { run } from "./commands.ts";
import { type Installation, install, type Tenant } from "./installation.ts";

/** Until the last cached answers have expired. */
const CACHED_MS = 35_000;
const SERVICES = ["parley-conversation", "parley-quota", "parley-llm-proxy"];

describe("cached DNS answers on a real cluster", () => {
  let installation: Installation;
  let tenant: Tenant;

  beforeAll(async () => {
    ({ installation, tenant } = await install());
  });
  afterAll(async () => {
    await installation.remove();
  });

  /** Returns the addresses that a pod gets for a headless Service, and those of its pods that are not being deleted. */
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

  it("lose no stream while they name deleted pods", async () => {
    let samples = 0;
    let staleSamples = 0;
    const report = await timed(
      "restart of three services with DNS answers cached for 30 s",
      () =>
        installation.underLoad(tenant, async () => {
          // Fills the cache. Its answers last 30 s, and a pod's preStopSeconds only 5.
          for (const service of SERVICES) await resolve(service);
          await installation.kubectl("rollout", "restart", ...SERVICES.map((name) => `deployment/${name}`));
          const restarted = Promise.all(
            SERVICES.map((name) => installation.kubectl("rollout", "status", `deployment/${name}`, "--timeout=170s")),
          ).then(() => installation.waitForTerminatingPods());
          let endMs = Number.POSITIVE_INFINITY;
          const ended = restarted.finally(() => {
            endMs = performance.now() + CACHED_MS;
          });
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
      (result) => `${streamsOf(result)}, ${staleSamples} of ${samples} DNS answers named a deleted pod`,
    );
    expect(staleSamples).toBeGreaterThan(0);
    await createLoadCheck(installation, tenant)(report);
  });
});
