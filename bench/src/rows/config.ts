import { fileURLToPath } from "node:url";
import { freePort, nodeFlags, startProcess } from "@parley/test-support";
import autocannon from "autocannon";
import { cpuMs } from "../support/cpu.ts";
import { setStage } from "../support/stage.ts";
import { median } from "../support/statistics.ts";
import type { Row } from "./row.ts";

const CONNECTIONS = 32;
const SECONDS = 5;
const GOAL = 0.8;

const subject = fileURLToPath(new URL("../subjects/bare-route.ts", import.meta.url));

/** What the first request of every visitor costs, against a route that only answers. */
export const config: Row = {
  name: "config",
  about: "requests a second of the config endpoint ÷ of a bare Fastify route that returns the same JSON",
  inTheWay:
    "each answer also carries the security headers, CORS for its origin and the limit's state, and is looked up by its key",
  async run({ rounds, scale }, progress) {
    const stage = await setStage("tokens-100");
    const { publicKey, origin } = stage.tenant;
    const url = `${stage.system.url()}/api/widget/config/?public_key=${publicKey}`;
    const body = await (await fetch(url, { headers: { origin } })).text();
    const port = await freePort();
    const bare = await startProcess({
      name: "bare route",
      command: process.execPath,
      args: [...nodeFlags, subject],
      env: { PORT: String(port), BODY: body },
      ready: /listening/,
    });
    await bare.waitReady();
    try {
      const seconds = Math.max(1, SECONDS * scale);
      const [edge = 0] = stage.servicePids();
      const bareUrl = `http://127.0.0.1:${port}/config`;
      for (const warm of [url, bareUrl]) await ask(warm, origin, seconds);
      const ratios: number[] = [];
      const costs: { edge: number; bare: number }[] = [];
      for (let round = 1; round <= rounds; round++) {
        const theirs = await cost(bare.pid, () => ask(bareUrl, origin, seconds));
        const ours = await cost(edge, () => ask(url, origin, seconds));
        ratios.push(ours.perSecond / theirs.perSecond);
        costs.push({ edge: ours.microseconds, bare: theirs.microseconds });
        progress(`round ${round}: ${Math.round(ours.perSecond)} to ${Math.round(theirs.perSecond)} requests a second`);
      }
      const value = median(ratios);
      const detail = `CPU a request: edge ${median(costs.map((each) => each.edge)).toFixed(0)} µs, bare route ${median(costs.map((each) => each.bare)).toFixed(0)} µs`;
      return [{ what: `${CONNECTIONS} connections`, value, unit: "×", goal: `≥ ${GOAL}`, met: value >= GOAL, detail }];
    } finally {
      await bare.kill9();
      await stage.stop();
    }
  },
};

/** Requests a second; throws when one was not answered with 200. */
async function ask(url: string, origin: string, seconds: number): Promise<number> {
  const result = await autocannon({ url, connections: CONNECTIONS, duration: seconds, headers: { origin } });
  const failed = result.non2xx + result.errors;
  if (failed > 0) throw new Error(`${failed} requests for ${url} failed`);
  return result["2xx"];
}

async function cost(pid: number, run: () => Promise<number>) {
  const before = cpuMs(pid);
  const started = performance.now();
  const requests = await run();
  const seconds = (performance.now() - started) / 1_000;
  return { perSecond: requests / seconds, microseconds: ((cpuMs(pid) - before) * 1_000) / requests };
}
