import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLoadCheck, streamsOf, timed } from "./checks.ts";
import { type Installation, install, type Tenant } from "./installation.ts";
import { watchDuring } from "./watch.ts";

/** Longer than the autoscaler takes to look at its Deployment twice. */
const AUTOSCALER_MS = 40_000;

// One installation passes through all tests in order. The autoscaler has no metrics here: it changes the number of replicas only to stay within
// its bounds.
describe("autoscaling on a real cluster", () => {
  let installation: Installation;
  let tenant: Tenant;
  let expectWholeStreams: ReturnType<typeof createLoadCheck>;

  beforeAll(async () => {
    ({ installation, tenant } = await install({ edge: { replicas: 3 } }));
    expectWholeStreams = createLoadCheck(installation, tenant);
  });
  afterAll(async () => {
    await installation.remove();
  });

  /** Upgrades under load. Returns the edge's numbers of replicas until the autoscaler has settled. */
  async function upgrade(name: string, edge: object, command?: string): Promise<number[]> {
    let replicas: number[] = [];
    const report = await timed(
      name,
      () =>
        installation.underLoad(tenant, async () => {
          const lines = await watchDuring(["deployment", "parley-edge"], "{{.spec.replicas}}", async () => {
            if (command === undefined) await installation.runDocumented("upgrades.md", "", { edge });
            else await installation.writeValues({ edge }).then(() => installation.shell(command));
            await sleep(AUTOSCALER_MS);
          });
          replicas = lines.map(Number).filter((value, index, all) => value !== all[index - 1]);
        }),
      (result) => `${streamsOf(result)}, replicas ${replicas.join(" → ")}, without a metrics server`,
    );
    await expectWholeStreams(report);
    return replicas;
  }

  it("keeps the number of replicas when it is turned on", async () => {
    const edge = { replicas: 3, autoscaling: { enabled: true, minReplicas: 2, maxReplicas: 4 } };
    expect(await upgrade("autoscaling on", edge)).toEqual([3]);
  });

  it("keeps the number that the autoscaler set when it is turned off", async () => {
    const edge = { replicas: 3, autoscaling: { enabled: true, minReplicas: 4, maxReplicas: 4 } };
    expect(await upgrade("the autoscaler's minimum raised", edge)).toEqual([3, 4]);
    expect(await upgrade("upgrade without a change", edge)).toEqual([4]);
    expect(await upgrade("autoscaling off", { replicas: 2, autoscaling: { enabled: false } })).toEqual([4]);
  });

  it("sends edge.replicas after autoscaling only with the documented flag", async () => {
    const edge = { replicas: 2 };
    await installation.writeValues({ edge });
    const command = "helm upgrade parley charts/parley --namespace parley --values values.yaml --wait --timeout 15m";
    await expect(installation.shell(command)).rejects.toThrow(/conflict.*\.spec\.replicas/s);
    expect(await upgrade("edge.replicas after autoscaling", edge, `${command} --force-conflicts`)).toEqual([4, 2]);
  });
});
