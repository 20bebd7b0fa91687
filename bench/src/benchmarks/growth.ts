import { queryRows } from "../../../tests/system/database.ts";
import { alternate } from "../support/alternate.ts";
import { measureLoad, parleyLoad } from "../support/load.ts";
import { storeTurns } from "../support/messages.ts";
import { median } from "../support/statistics.ts";
import { startTestbed, type Testbed } from "../support/testbed.ts";
import { atMost, type Benchmark } from "./benchmark.ts";

const MESSAGES = 10_000_000;
const WORKSPACES = 1_000;
const GOAL = 1.1;
/** Turns that warm up each side. */
const WARM_UP_TURNS = 2_000;
/** Number of alternations in a round. */
const ALTERNATIONS = 4;

/** Cost of a turn with a large database, compared with an empty one. */
export const growth: Benchmark = {
  name: "growth",
  description: `CPU of a turn with ${MESSAGES.toLocaleString("en")} stored messages ÷ CPU of a turn with none`,
  whyMissed: "probably a statement that reads more rows when more are stored; check the query plans",
  async run({ rounds, scale }, progress) {
    const testbeds: Testbed[] = [];
    try {
      const empty = await startTestbed("tokens-100");
      testbeds.push(empty);
      const full = await startTestbed("tokens-100");
      testbeds.push(full);
      const { url } = full.system.database;
      const turns = (MESSAGES * scale) / 2;
      const started = performance.now();
      await storeTurns(url, { workspaceId: full.tenant.workspaceId, turns, workspaces: WORKSPACES }, (done) =>
        progress(`${(done * 2).toLocaleString("en")} messages stored`),
      );
      const seconds = (performance.now() - started) / 1_000;
      // Like in production, where autovacuum has processed old rows long ago.
      await queryRows(url, "VACUUM (ANALYZE)");
      await queryRows(url, "CHECKPOINT");
      progress("vacuumed");

      const warmUpShape = { callers: 16, turns: Math.ceil(WARM_UP_TURNS * scale), warmUpTurns: 0 };
      const shape = { callers: 16, turns: Math.ceil(300 * scale), warmUpTurns: Math.ceil(100 * scale) };
      for (const testbed of testbeds) await measureLoad(parleyLoad(testbed, warmUpShape), []);
      const cost = async (testbed: Testbed) => [
        (await measureLoad(parleyLoad(testbed, shape), testbed.servicePids())).cpuMsPerTurn,
      ];
      const costs: { full: number; empty: number }[] = [];
      for (let round = 1; round <= rounds; round++) {
        const [[emptyMs = 0] = [], [fullMs = 0] = []] = await alternate(ALTERNATIONS, [
          () => cost(empty),
          () => cost(full),
        ]);
        costs.push({ empty: emptyMs, full: fullMs });
        progress(`round ${round}: full ${fullMs.toFixed(2)} ms, empty ${emptyMs.toFixed(2)} ms`);
      }
      const value = median(costs.map((each) => each.full / each.empty));
      const detail = `${median(costs.map((each) => each.full)).toFixed(2)} ms, empty database ${median(costs.map((each) => each.empty)).toFixed(2)} ms; stored in ${seconds.toFixed(0)} s over ${WORKSPACES} workspaces`;
      return [atMost(GOAL, { what: "CPU per turn", value, unit: "×", detail })];
    } finally {
      for (const testbed of testbeds) await testbed.stop();
    }
  },
};
