import { fileURLToPath } from "node:url";
import { freePort, nodeFlags, startProcess } from "@parley/test-support";
import autocannon from "autocannon";
import { cpuMs } from "../support/cpu.ts";
import { median } from "../support/statistics.ts";
import { startTestbed } from "../support/testbed.ts";
import { atLeast, type Benchmark } from "./benchmark.ts";

const CONNECTIONS = 32;
const MEASUREMENT_SECONDS = 5;
/** The least acceptable ratio of the edge's throughput to the bare route's. */
const GOAL = 0.8;

const bareRouteScript = fileURLToPath(new URL("../baselines/bare-route.ts", import.meta.url));

/**
 * Compares the throughputs of two routes: the config endpoint, which every visitor's widget requests first, and a bare route, which returns the
 * same JSON without any checks.
 */
export const config: Benchmark = {
  name: "config",
  description: "requests per second: config endpoint ÷ bare Fastify route with the same JSON",
  hintIfMissed: "the edge looks up the public key and adds security and CORS headers to each response",
  async run({ rounds, scale }, progress) {
    await using resources = new AsyncDisposableStack();
    // This benchmark sends no chats, so the model is not used.
    const testbed = resources.adopt(await startTestbed("tokens-100"), (started) => started.stop());
    const { publicKey, origin } = testbed.tenant;
    const url = `${testbed.system.url()}/api/widget/config/?public_key=${publicKey}`;
    const body = await (await fetch(url, { headers: { origin } })).text();
    const port = await freePort();
    const bare = resources.adopt(
      await startProcess({
        name: "bare route",
        command: process.execPath,
        args: [...nodeFlags, bareRouteScript],
        env: { PORT: String(port), BODY: body },
        ready: /listening/,
      }),
      async (started) => void (await started.kill9()),
    );
    await bare.waitReady();
    const seconds = Math.max(1, MEASUREMENT_SECONDS * scale);
    const [edgePid = 0] = testbed.servicePids();
    const bareUrl = `http://127.0.0.1:${port}/config`;
    for (const warmUpUrl of [url, bareUrl]) await sendRequests(warmUpUrl, origin, seconds);
    const ratios: number[] = [];
    const cpu: { edge: number; bare: number }[] = [];
    for (let round = 1; round <= rounds; round++) {
      const bareResult = await measure(bare.pid, () => sendRequests(bareUrl, origin, seconds));
      const edgeResult = await measure(edgePid, () => sendRequests(url, origin, seconds));
      ratios.push(edgeResult.perSecond / bareResult.perSecond);
      cpu.push({ edge: edgeResult.cpuMicroseconds, bare: bareResult.cpuMicroseconds });
      progress(
        `round ${round}: edge ${Math.round(edgeResult.perSecond)}, bare route ${Math.round(bareResult.perSecond)} requests per second`,
      );
    }
    const value = median(ratios);
    const detail = `CPU per request: edge ${median(cpu.map((each) => each.edge)).toFixed(0)} µs, bare route ${median(cpu.map((each) => each.bare)).toFixed(0)} µs`;
    return [atLeast(GOAL, { what: `${CONNECTIONS} connections`, value, unit: "×", detail })];
  },
};

/** Sends requests for `seconds`. Returns the number of 2xx responses. Throws if a request fails or gets another status. */
async function sendRequests(url: string, origin: string, seconds: number): Promise<number> {
  const result = await autocannon({ url, connections: CONNECTIONS, duration: seconds, headers: { origin } });
  const failed = result.non2xx + result.errors;
  if (failed > 0) throw new Error(`${failed} requests for ${url} failed`);
  return result["2xx"];
}

/** Measures the requests per second and the process's CPU time per request. `run` resolves to the number of 2xx responses. */
async function measure(pid: number, run: () => Promise<number>) {
  const before = cpuMs(pid);
  const started = performance.now();
  const responses = await run();
  const seconds = (performance.now() - started) / 1_000;
  return { perSecond: responses / seconds, cpuMicroseconds: ((cpuMs(pid) - before) * 1_000) / responses };
}
