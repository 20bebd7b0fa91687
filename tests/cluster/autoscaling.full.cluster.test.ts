import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createLoadCheck, describeStreams, timed } from "./checks.ts";
import { type Installation, install, type Tenant } from "./installation.ts";
import { watchDuring } from "./watch.ts";

/** Longer than two sync periods of the HorizontalPodAutoscaler. */
const AUTOSCALER_WAIT_MS = 40_000;

// The tests run in order on one installation. The autoscaler has no metrics here, so it changes the number of replicas only if the number is
// below the minimum or above the maximum.
describe("autoscaling on a real cluster", () => {
  let installation: Installation;
  let tenant: Tenant;
  let checkLoad: ReturnType<typeof createLoadCheck>;

  beforeAll(async () => {
    ({ installation, tenant } = await install({ edge: { replicas: 3 } }));
    checkLoad = createLoadCheck(installation, tenant);
  });
  afterAll(async () => {
    await installation.remove();
  });

  /**
   * Upgrades under load with these values of the edge, by `command` or by the documented command. Returns the edge's successive numbers of
   * replicas until AUTOSCALER_WAIT_MS after the upgrade.
   */
  async function upgrade(name: string, edge: object, command?: string): Promise<number[]> {
    let replicas: number[] = [];
    const report = await timed(
      name,
      () =>
        installation.underLoad(tenant, async () => {
          const lines = await watchDuring(["deployment", "parley-edge"], "{{.spec.replicas}}", async () => {
            if (command === undefined) await installation.runDocumented("upgrades.md", "", { edge });
            else await installation.writeValues({ edge }).then(() => installation.shell(command));
            await sleep(AUTOSCALER_WAIT_MS);
          });
          replicas = lines.map(Number).filter((value, index, all) => value !== all[index - 1]);
        }),
      (result) => `${describeStreams(result)}, replicas ${replicas.join(" → ")}, without a metrics server`,
    );
    await checkLoad(report);
    return replicas;
  }

  it("keeps the number of replicas when autoscaling is turned on", async () => {
    const edge = { replicas: 3, autoscaling: { enabled: true, minReplicas: 2, maxReplicas: 4 } };
    expect(await upgrade("autoscaling on", edge)).toEqual([3]);
  });

  it("keeps the autoscaler's number of replicas when autoscaling is turned off", async () => {
    const edge = { replicas: 3, autoscaling: { enabled: true, minReplicas: 4, maxReplicas: 4 } };
    expect(await upgrade("the autoscaler's minimum raised", edge)).toEqual([3, 4]);
    expect(await upgrade("upgrade without a change", edge)).toEqual([4]);
    expect(await upgrade("autoscaling off", { replicas: 2, autoscaling: { enabled: false } })).toEqual([4]);
  });

  it("after autoscaling is turned off, applies edge.replicas only with the documented flag --force-conflicts", async () => {
    const edge = { replicas: 2 };
    await installation.writeValues({ edge });
    const command = "helm upgrade parley charts/parley --namespace parley --values values.yaml --wait --timeout 15m";
    await expect(installation.shell(command)).rejects.toThrow(/conflict.*\.spec\.replicas/s);
    expect(await upgrade("edge.replicas after autoscaling", edge, `${command} --force-conflicts`)).toEqual([4, 2]);
  });
});
