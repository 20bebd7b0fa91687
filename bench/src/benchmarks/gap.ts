import { measureLoad, parleyLoad, relayLoad } from "../support/load.ts";
import { median } from "../support/statistics.ts";
import { startTestbed } from "../support/testbed.ts";
import { atMost, type Benchmark } from "./benchmark.ts";

const MODEL = "tokens-100-every-50";
/** The largest accepted difference: Parley's p99 minus the bare relay's p99. */
const GOAL_MS = 20;

/** Compares the time between tokens through Parley and through a bare relay, which forwards the same provider's stream. */
export const gap: Benchmark = {
  name: "gap",
  description:
    "p99 of the time between tokens through Parley − through the bare relay; 200 callers, a token every 50 ms",
  hintIfMissed: "text is coalesced under load, and the services, PostgreSQL and the load generator share the cores",
  async run({ rounds, scale }, progress) {
    const shape = { callers: 200, turns: Math.ceil(400 * scale), warmUpTurns: Math.ceil(200 * scale), rampMs: 4_000 };
    const testbed = await startTestbed(MODEL);
    try {
      const relay: number[] = [];
      const parley: number[] = [];
      for (let round = 1; round <= rounds; round++) {
        relay.push((await measureLoad(relayLoad(testbed, MODEL, shape), [])).tokenGapMs.p99);
        parley.push((await measureLoad(parleyLoad(testbed, shape), [])).tokenGapMs.p99);
        progress(`round ${round}: Parley ${parley.at(-1)?.toFixed(1)} ms, bare relay ${relay.at(-1)?.toFixed(1)} ms`);
      }
      const value = median(parley.map((each, i) => each - (relay[i] ?? Number.NaN)));
      const detail = `p99: Parley ${median(parley).toFixed(1)} ms, bare relay ${median(relay).toFixed(1)} ms`;
      return [atMost(GOAL_MS, { what: "added p99 between tokens, 200 callers", value, unit: "ms", detail })];
    } finally {
      await testbed.stop();
    }
  },
};
