import { inTurn } from "../support/in-turn.ts";
import { measure, parleyPlan } from "../support/load.ts";
import { storeTurns } from "../support/messages.ts";
import { query } from "../support/sql.ts";
import { type Stage, setStage } from "../support/stage.ts";
import { median } from "../support/statistics.ts";
import type { Row } from "./row.ts";

const MESSAGES = 10_000_000;
const WORKSPACES = 1_000;
const GOAL = 1.1;
/** Turns that both have served beforehand. */
const BEFOREHAND = 2_000;
/** So often both take turns in a round. */
const SLICES = 4;

/** Whether a turn gets dearer as the years go by. */
export const growth: Row = {
  name: "growth",
  about: `turn-cost with ${MESSAGES.toLocaleString("en")} messages stored ÷ with none`,
  inTheWay: "a statement of the turn reads more the more is stored: look at its plan",
  async run({ rounds, scale }, progress) {
    const stages: Stage[] = [];
    try {
      const empty = await setStage("tokens-100");
      stages.push(empty);
      const full = await setStage("tokens-100");
      stages.push(full);
      const { url } = full.system.database;
      const turns = (MESSAGES * scale) / 2;
      const started = performance.now();
      await storeTurns(url, { workspaceId: full.tenant.workspaceId, turns, workspaces: WORKSPACES }, (done) =>
        progress(`${(done * 2).toLocaleString("en")} messages stored`),
      );
      const seconds = (performance.now() - started) / 1_000;
      // What was stored over years was cleaned up long ago.
      await query(url, "VACUUM (ANALYZE)");
      await query(url, "CHECKPOINT");
      progress("cleaned up");

      const beforehand = { callers: 16, turns: Math.ceil(BEFOREHAND * scale), warmUp: 0 };
      const shape = { callers: 16, turns: Math.ceil(300 * scale), warmUp: Math.ceil(100 * scale) };
      for (const stage of stages) await measure(parleyPlan(stage, beforehand), []);
      const cost = async (stage: Stage) => [
        (await measure(parleyPlan(stage, shape), stage.servicePids())).cpuMsPerTurn,
      ];
      const costs: { full: number; empty: number }[] = [];
      for (let round = 1; round <= rounds; round++) {
        const [[bare = 0] = [], [stored = 0] = []] = await inTurn(SLICES, [() => cost(empty), () => cost(full)]);
        costs.push({ empty: bare, full: stored });
        progress(`round ${round}: full ${stored.toFixed(2)} ms, empty ${bare.toFixed(2)} ms`);
      }
      const value = median(costs.map((each) => each.full / each.empty));
      const detail = `${median(costs.map((each) => each.full)).toFixed(2)} ms, empty ${median(costs.map((each) => each.empty)).toFixed(2)} ms; stored in ${seconds.toFixed(0)} s over ${WORKSPACES} workspaces`;
      return [{ what: "CPU a turn", value, unit: "×", goal: `≤ ${GOAL}`, met: value <= GOAL, detail }];
    } finally {
      for (const stage of stages) await stage.stop();
    }
  },
};
