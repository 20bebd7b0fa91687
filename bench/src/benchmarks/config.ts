import { fileURLToPath } from "node:url";
import { freePort, nodeFlags, startProcess } from "@parley/test-support";
import autocannon from "autocannon";
import { cpuMs } from "../support/cpu.ts";
import { median } from "../support/statistics.ts";
import { startTestbed } from "../support/testbed.ts";
import { atLeast, type Benchmark } from "./benchmark.ts";

const CONNECTIONS = 32;
/** Duration of a measurement. */
const SECONDS = 5;
/** Goal for the edge's throughput ÷ the bare route's. */
const GOAL = 0.8;

const baseline = fileURLToPath(new URL("../baselines/bare-route.ts", import.meta.url));

/** Throughput of the config endpoint, compared with a route without any checks. The widget of every visitor requests this endpoint first. */
export const config: Benchmark = {
  name: "config",
  description: "requests per second: config endpoint ÷ bare Fastify route with the same JSON",
  hintIfMissed: "each response also has security and CORS headers, and needs a lookup of the public key",
  async run({ rounds, scale }, progress) {
    // This benchmark sends no chats, so the model is not used.
    const testbed = await startTestbed("tokens-100");
    const { publicKey, origin } = testbed.tenant;
    const url = `${testbed.system.url()}/api/widget/config/?public_key=${publicKey}`;
    const body = await (await fetch(url, { headers: { origin } })).text();
    const port = await freePort();
    const bare = await startProcess({
      name: "bare route",
      command: process.execPath,
      args: [...nodeFlags, baseline],
      env: { PORT: String(port), BODY: body },
      ready: /listening/,
    });
    await bare.waitReady();
    try {
      const seconds = Math.max(1, SECONDS * scale);
      const [edge = 0] = testbed.servicePids();
      const bareUrl = `http://127.0.0.1:${port}/config`;
      for (const warmUpUrl of [url, bareUrl]) await sendRequests(warmUpUrl, origin, seconds);
      const ratios: number[] = [];
      const cpu: { edge: number; bare: number }[] = [];
      for (let round = 1; round <= rounds; round++) {
        const bareResult = await measureCost(bare.pid, () => sendRequests(bareUrl, origin, seconds));
        const edgeResult = await measureCost(edge, () => sendRequests(url, origin, seconds));
        ratios.push(edgeResult.perSecond / bareResult.perSecond);
        cpu.push({ edge: edgeResult.cpuMicroseconds, bare: bareResult.cpuMicroseconds });
        progress(
          `round ${round}: edge ${Math.round(edgeResult.perSecond)}, bare route ${Math.round(bareResult.perSecond)} requests per second`,
        );
      }
      const value = median(ratios);
      const detail = `CPU per request: edge ${median(cpu.map((each) => each.edge)).toFixed(0)} µs, bare route ${median(cpu.map((each) => each.bare)).toFixed(0)} µs`;
      return [atLeast(GOAL, { what: `${CONNECTIONS} connections`, value, unit: "×", detail })];
    } finally {
      await bare.kill9();
      await testbed.stop();
    }
  },
};

/** Sends requests for `seconds`. Returns the number of 2xx responses. Throws if a request fails or gets another status. */
async function sendRequests(url: string, origin: string, seconds: number): Promise<number> {
  const result = await autocannon({ url, connections: CONNECTIONS, duration: seconds, headers: { origin } });
  const failed = result.non2xx + result.errors;
  if (failed > 0) throw new Error(`${failed} requests for ${url} failed`);
  return result["2xx"];
}

/** Returns the throughput of `run`, which resolves to its number of requests, and the CPU time that the process uses per request. */
async function measureCost(pid: number, run: () => Promise<number>) {
  const before = cpuMs(pid);
  const started = performance.now();
  const requests = await run();
  const seconds = (performance.now() - started) / 1_000;
  return { perSecond: requests / seconds, cpuMicroseconds: ((cpuMs(pid) - before) * 1_000) / requests };
}
