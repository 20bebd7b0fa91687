import { measure, parleyPlan } from "../support/load.ts";
import { storeTurns } from "../support/messages.ts";
import { setStage } from "../support/stage.ts";
import { median } from "../support/statistics.ts";
import type { Row } from "./row.ts";

const MESSAGES = 10_000_000;
const WORKSPACES = 1_000;
const GOAL = 1.1;

/** Whether a turn gets dearer as the years go by. */
export const growth: Row = {
  name: "growth",
  about: `turn-cost with ${MESSAGES.toLocaleString("en")} messages stored ÷ with none`,
  inTheWay: "a statement of the turn reads more the more is stored: look at its plan",
  async run({ rounds, scale }, progress) {
    const stage = await setStage("tokens-100");
    const shape = { callers: 16, turns: Math.ceil(800 * scale), warmUp: Math.ceil(400 * scale) };
    const cost = async (label: string) => {
      const costs: number[] = [];
      for (let round = 1; round <= rounds; round++) {
        costs.push((await measure(parleyPlan(stage, shape), stage.servicePids())).cpuMsPerTurn);
        progress(`${label}, round ${round}: ${costs.at(-1)?.toFixed(2)} ms`);
      }
      return median(costs);
    };
    try {
      // Once beforehand: the second of two runs must not win because the first one warmed it up.
      await measure(parleyPlan(stage, shape), []);
      const empty = await cost("empty");
      const turns = (MESSAGES * scale) / 2;
      const started = performance.now();
      await storeTurns(
        stage.system.database.url,
        { workspaceId: stage.tenant.workspaceId, turns, workspaces: WORKSPACES },
        (done) => progress(`${(done * 2).toLocaleString("en")} messages stored`),
      );
      const seconds = (performance.now() - started) / 1_000;
      const full = await cost("full");
      const value = full / empty;
      const detail = `${full.toFixed(2)} ms, empty ${empty.toFixed(2)} ms; stored in ${seconds.toFixed(0)} s over ${WORKSPACES} workspaces`;
      return [{ what: "CPU a turn", value, unit: "×", goal: `≤ ${GOAL}`, met: value <= GOAL, detail }];
    } finally {
      await stage.stop();
    }
  },
};
