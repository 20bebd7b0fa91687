import { measure, parleyPlan, relayPlan } from "../support/load.ts";
import { setStage } from "../support/stage.ts";
import { median } from "../support/statistics.ts";
import type { Row } from "./row.ts";

const MODEL = "tokens-100-every-50";
const GOAL_MS = 20;

/** How much more unevenly than through the bare relay the tokens come. */
export const gap: Row = {
  name: "gap",
  about: "p99 of the time between tokens, one every 50 ms for 200 callers, through Parley − through the bare relay",
  inTheWay: "the window in which tokens are joined under load, and five processes and the load on the same cores",
  async run({ rounds, scale }, progress) {
    const shape = { callers: 200, turns: Math.ceil(400 * scale), warmUp: Math.ceil(200 * scale), rampMs: 4_000 };
    const stage = await setStage(MODEL);
    try {
      const relay: number[] = [];
      const parley: number[] = [];
      for (let round = 1; round <= rounds; round++) {
        relay.push((await measure(relayPlan(stage, MODEL, shape), [])).gapMs.p99);
        parley.push((await measure(parleyPlan(stage, shape), [])).gapMs.p99);
        progress(`round ${round}: Parley ${parley.at(-1)?.toFixed(1)} ms, bare relay ${relay.at(-1)?.toFixed(1)} ms`);
      }
      const value = median(parley.map((each, i) => each - (relay[i] ?? Number.NaN)));
      const detail = `p99: Parley ${median(parley).toFixed(1)} ms, bare relay ${median(relay).toFixed(1)} ms`;
      return [
        {
          what: "paced at 50 ms, 200 callers",
          value,
          unit: "ms",
          goal: `≤ ${GOAL_MS} ms`,
          met: value <= GOAL_MS,
          detail,
        },
      ];
    } finally {
      await stage.stop();
    }
  },
};
