import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { nodeFlags } from "@parley/test-support";
import type { OverloadOptions, OverloadResult } from "../load/overload-load-options.ts";
import { parleyLoad, startLoad } from "../support/load.ts";
import { median } from "../support/statistics.ts";
import { startTestbed, type Testbed } from "../support/testbed.ts";
import { atLeast, atMost, type Benchmark } from "./benchmark.ts";

const generator = fileURLToPath(new URL("../load/overload-load-generator.ts", import.meta.url));
/** The peak is the throughput of this many callers, each of which waits for its reply before it sends the next message. */
const CALLERS = 32;
const PEAK_TURNS = 4_000;
const OVERLOAD_MS = 30_000;
const NORMAL_MS = 15_000;
/** The rates of the overload and of the normal load after it, as multiples of the peak. */
const OVERLOAD_FACTOR = 3;
const NORMAL_FACTOR = 0.5;

/** Goodput (complete replies per second) during an overload, and the time until every chat gets its reply again. */
export const overload: Benchmark = {
  name: "overload",
  description: `${OVERLOAD_FACTOR} times the peak throughput for ${OVERLOAD_MS / 1_000} s`,
  hintIfMissed: "the load generator shares the processor with the services",
  async run({ rounds, scale }, progress) {
    const testbed = await startTestbed("tokens-20", { env: { edge: { MAX_STREAMS: "20000" } } });
    try {
      const ratios: number[] = [];
      const recoveries: number[] = [];
      for (let round = 1; round <= rounds; round++) {
        const peak = await measurePeak(testbed, Math.ceil(PEAK_TURNS * scale));
        const overloadMs = OVERLOAD_MS * scale;
        const { completed, refused, failed, failures, secondsUntilRecovered } = await runOverload(testbed, {
          overloadRate: peak * OVERLOAD_FACTOR,
          overloadMs,
          normalRate: peak * NORMAL_FACTOR,
          normalMs: Math.max(2_000, NORMAL_MS * scale),
        });
        const ratio = completed / (overloadMs / 1_000) / peak;
        ratios.push(ratio);
        recoveries.push(secondsUntilRecovered);
        progress(
          `round ${round}: peak ${peak.toFixed(0)} turns/s; ${completed} complete, ${refused} refused, ${failed} failed; ` +
            `recovered after ${secondsUntilRecovered.toFixed(1)} s; failures: ${JSON.stringify(failures)}`,
        );
      }
      const detail = `${rounds} rounds; the peak is the throughput of ${CALLERS} callers`;
      return [
        atLeast(0.8, { what: "goodput ÷ peak", value: median(ratios), unit: "", detail }),
        atMost(5, { what: "time to recover", value: median(recoveries), unit: "s", detail }),
      ];
    } finally {
      await testbed.stop();
    }
  },
};

/** Returns the peak in turns per second. */
async function measurePeak(testbed: Testbed, turns: number): Promise<number> {
  const load = startLoad(parleyLoad(testbed, { callers: CALLERS, turns, warmUpTurns: turns }));
  await load.ready;
  const { elapsedMs } = await load.run();
  return (turns / elapsedMs) * 1_000;
}

type Rates = Pick<OverloadOptions, "overloadRate" | "overloadMs" | "normalRate" | "normalMs">;

async function runOverload(testbed: Testbed, rates: Rates): Promise<OverloadResult> {
  const { url, headers, body } = parleyLoad(testbed, { callers: 1, turns: 0, warmUpTurns: 0 });
  const options: OverloadOptions = { url, headers, body, ...rates };
  const { stdout } = await promisify(execFile)(process.execPath, [...nodeFlags, generator, JSON.stringify(options)]);
  return JSON.parse(stdout) as OverloadResult;
}
