import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createAuthority } from "@parley/service-kit/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startBackends } from "./backends.ts";
import { writeCertificates } from "./certificates.ts";
import { describeStreams, timed } from "./checks.ts";
import { ROOT } from "./commands.ts";
import { createInstallation, type Installation } from "./installation.ts";

/** The services with their ops ports. */
const OPS_PORTS = { edge: 8081, conversation: 8083, quota: 8085, "llm-proxy": 8087 };
type Service = keyof typeof OPS_PORTS;
const SERVICES = Object.keys(OPS_PORTS) as Service[];

const WARM_UP_MS = 15_000;
const MEASURE_MS = 45_000;

/** Factor by which a measured cost may exceed the one in docs/install/sizing.md; runs on one machine differ by up to 15 %. */
const NOISE = 1.15;
const REPLICAS = 2;

type Costs = Record<Service, number>;

const page = await readFile(join(ROOT, "docs/install/sizing.md"), "utf8");
/** Reads a column of the table of costs in docs/install/sizing.md. */
function readDocumented(column: "an idle replica" | "60 tokens" | "300 tokens"): Costs {
  const [header = "", , ...rows] = page.slice(page.search(/^\| service +\| an idle replica/m)).split("\n");
  const cells = (line: string) => line.split("|").map((cell) => cell.trim());
  const index = cells(header).findIndex((cell) => cell.startsWith(column));
  const find = (service: Service) =>
    Number.parseFloat(rows.map(cells).find((row) => row[1] === `\`${service}\``)?.[index] ?? "");
  return toCosts(find);
}

const toCosts = (costOf: (service: Service) => number) =>
  Object.fromEntries(SERVICES.map((service) => [service, costOf(service)])) as Costs;

// Measures what docs/install/sizing.md documents: the CPU time of turns with few open streams on each replica, with mutual TLS between the
// services and the chart's default replicas.
describe("the CPU time of the services on a real cluster", () => {
  let installation: Installation;
  /** Each service's ms of CPU time within MEASURE_MS without a turn. */
  let idle: Costs;

  beforeAll(async () => {
    installation = await createInstallation();
    await startBackends();
    await installation.prepare();
    await writeCertificates(installation, await createAuthority("Test"));
    await installation.runDocumented("cluster.md", "5. Install", { mtls: { enabled: true, certManager: false } });
    await sleep(WARM_UP_MS);
  });
  afterAll(async () => {
    await installation.remove();
  });

  /** Reads the CPU seconds of each service's replicas and the ended turns. */
  async function readUsage(): Promise<{ cpuSeconds: Costs; turns: number }> {
    const usage = { cpuSeconds: { edge: 0, conversation: 0, quota: 0, "llm-proxy": 0 }, turns: 0 };
    for (const { component, address } of await installation.pods()) {
      const service = SERVICES.find((each) => each === component);
      if (service === undefined) continue;
      const metrics = await (await fetch(`http://${address}:${OPS_PORTS[service]}/metrics`)).text();
      const sum = (name: string) =>
        [...metrics.matchAll(new RegExp(`^${name}(?:\\{.*\\})? (\\S+)$`, "gm"))].reduce(
          (total, [, value]) => total + Number(value),
          0,
        );
      usage.cpuSeconds[service] += sum("process_cpu_seconds_total");
      usage.turns += sum("parley_turns_total");
    }
    return usage;
  }

  /** Returns each service's ms of CPU time, and the number of ended turns, within MEASURE_MS. */
  async function measure(): Promise<{ cpuMs: Costs; turns: number }> {
    const before = await readUsage();
    await sleep(MEASURE_MS);
    const after = await readUsage();
    return {
      cpuMs: toCosts((service) => 1_000 * (after.cpuSeconds[service] - before.cpuSeconds[service])),
      turns: after.turns - before.turns,
    };
  }

  function check(name: string, costs: Costs, documented: Costs): void {
    console.log(`${name}: ${SERVICES.map((service) => `${service} ${costs[service].toFixed(1)}`).join(", ")}`);
    for (const service of SERVICES) expect(costs[service], service).toBeLessThan(documented[service] * NOISE);
  }

  it("an idle replica costs at most what the page says", async () => {
    idle = (await measure()).cpuMs;
    const costs = toCosts((service) => idle[service] / (MEASURE_MS / 1_000) / REPLICAS);
    check("ms of CPU time a second, idle", costs, readDocumented("an idle replica"));
  });

  it.each([
    [60, 8],
    [60, 30],
    [300, 30],
  ] as const)("replies of %d tokens for %d visitors cost at most what the page says", async (tokens, visitors) => {
    const tenant = await installation.createTenant(tokens);
    let measured: Awaited<ReturnType<typeof measure>> | undefined;
    const operation = async () => {
      await sleep(WARM_UP_MS);
      measured = await measure();
    };
    const run = () => installation.underLoad(tenant, operation, { visitors });
    await timed(`replies of ${tokens} tokens for ${visitors} visitors`, run, describeStreams);
    const { cpuMs, turns } = measured as Awaited<ReturnType<typeof measure>>;
    const costs = toCosts((service) => (cpuMs[service] - idle[service]) / turns);
    const rate = (turns / (MEASURE_MS / 1_000)).toFixed(1);
    check(`ms of CPU time a turn, ${rate} turns a second`, costs, readDocumented(`${tokens} tokens`));
  });
});
