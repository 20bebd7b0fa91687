import { queryRows } from "@parley/test-support";
import { cpuMsWithChildren } from "../support/cpu.ts";
import { measureLoad, parleyLoad } from "../support/load.ts";
import { storeTurns, vacuumDatabase } from "../support/messages.ts";
import { median, medianInterval } from "../support/statistics.ts";
import { readPostmasterPid, startTestbed, type Testbed } from "../support/testbed.ts";
import { atMost, type Benchmark } from "./benchmark.ts";

/** The indexes that only owners' lists, exports and erasures use. */
const OWNER_INDEXES = [
  "sessions_bot",
  "sessions_visitor",
  "sessions_rated_up",
  "sessions_rated_down",
  "sessions_playground",
  "sessions_started",
  "sessions_reviewed_good",
  "sessions_reviewed_bad",
  "turns_unanswered",
  "messages_rated_down",
];
const MESSAGES = 1_000_000;
const WORKSPACES = 1_000;
/** The largest acceptable ratio: CPU time with the indexes ÷ CPU time without them. */
const GOAL = 1.03;
const WARM_UP_TURNS = 2_000;
const TURNS = 600;
/** A pair is one measurement with the indexes and one without. The pairs' ratios differ by several percent, so the median needs many pairs. */
const PAIRS_PER_ROUND = 8;

export const ownerIndexes: Benchmark = {
  name: "owner-indexes",
  description: `CPU of a turn in the services and PostgreSQL, with the ${OWNER_INDEXES.length} indexes of owners' lists ÷ without them`,
  hintIfMissed:
    "too large a share of the turns adds entries to an index; if the interval includes the goal, repeat with more rounds",
  async run({ rounds, scale }, progress) {
    const sides: Testbed[] = [];
    try {
      for (const isIndexed of [true, false]) {
        const testbed = await startTestbed("tokens-10");
        sides.push(testbed);
        await fill(testbed, scale, isIndexed);
        await measureCost(testbed, Math.ceil(WARM_UP_TURNS * scale));
      }
      const [indexed, unindexed] = sides as [Testbed, Testbed];
      const turns = Math.ceil(TURNS * scale);
      const costs: { indexed: number; unindexed: number }[] = [];
      for (let pair = 1; pair <= rounds * PAIRS_PER_ROUND; pair++) {
        const cost = new Map<Testbed, number>();
        // Alternates the order, because background work after the first measurement may slow the second.
        for (const side of pair % 2 === 0 ? [indexed, unindexed] : [unindexed, indexed])
          cost.set(side, await measureCost(side, turns));
        const [indexedMs = Number.NaN, unindexedMs = Number.NaN] = [cost.get(indexed), cost.get(unindexed)];
        costs.push({ indexed: indexedMs, unindexed: unindexedMs });
        progress(`pair ${pair}: ${indexedMs.toFixed(2)} ms with the indexes, ${unindexedMs.toFixed(2)} ms without`);
      }
      const ratios = costs.map((each) => each.indexed / each.unindexed);
      const [low, high] = medianInterval(ratios);
      const value = median(ratios);
      const detail = `${median(costs.map((each) => each.indexed)).toFixed(2)} ms with the indexes, ${median(costs.map((each) => each.unindexed)).toFixed(2)} ms without; 95 % interval ${low.toFixed(3)} to ${high.toFixed(3)} of ${ratios.length} pairs`;
      return [atMost(GOAL, { what: "CPU per turn, PostgreSQL included", value, unit: "×", detail })];
    } finally {
      for (const testbed of sides) await testbed.stop();
    }
  },
};

async function fill({ system, tenant }: Testbed, scale: number, isIndexed: boolean): Promise<void> {
  const { url } = system.database;
  await storeTurns(url, {
    workspaceId: tenant.workspaceId,
    turns: (MESSAGES * scale) / 2,
    workspaces: WORKSPACES,
  });
  if (!isIndexed)
    await queryRows(url, `DROP INDEX ${OWNER_INDEXES.map((index) => `conversation.${index}`).join(", ")}`);
  await vacuumDatabase(url);
}

/** Returns the mean CPU time of a turn in ms. Each turn is in a new session of a new visitor. */
async function measureCost(testbed: Testbed, turns: number): Promise<number> {
  const load = parleyLoad(testbed, { callers: 16, turns, warmUpTurns: 0 });
  const body = JSON.stringify({ ...(JSON.parse(load.body) as object), visitor_id: "$uuid" });
  const postmasterPid = await readPostmasterPid(testbed.system.database.url);
  const before = cpuMsWithChildren(postmasterPid);
  const { cpuMsPerTurn } = await measureLoad({ ...load, body }, testbed.servicePids());
  return cpuMsPerTurn + (cpuMsWithChildren(postmasterPid) - before) / turns;
}
