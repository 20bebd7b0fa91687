import { createLogger, type Database, openDatabase } from "@parley/service-kit";
import { readSweepMark, sweep } from "../../../services/conversation/src/sweeping/sweep.store.ts";
import { cliEnv, runCliJson } from "../../../tests/system/cli.ts";
import { createTenant } from "../../../tests/system/system.ts";
import { measureAlternately } from "../support/alternate.ts";
import { measureLoad, parleyLoad } from "../support/load.ts";
import { storeTurns, vacuumDatabase } from "../support/messages.ts";
import { median } from "../support/statistics.ts";
import { BENCH_PLAN, startTestbed, type Testbed } from "../support/testbed.ts";
import { atMost, type Benchmark, type Figure, type RunOptions } from "./benchmark.ts";

/** Two messages per turn. The tables of turns, reservations, ledger entries and logged calls have one row per turn: 5 million each. */
const MESSAGES = 10_000_000;
const WORKSPACES = 1_000;
/** Goal for a turn's CPU time, large ÷ small database. */
const CPU_GOAL = 1.1;
/** Goal for the durations of usage audits and sweeps, large ÷ small database. It exceeds CPU_GOAL, because reading a larger index is slower. */
const DURATION_GOAL = 1.5;
const WARM_UP_TURNS = 2_000;
/** How many times each round measures the CPU time per turn of each testbed. */
const ALTERNATIONS = 4;
const AUDITED_TURNS = 5_000;
/** Measurements per round and testbed. One measurement is a usage audit, or SWEEPS_PER_MEASUREMENT sweeps. */
const MEASUREMENTS = 10;
const SWEEPS_PER_MEASUREMENT = 50;

type Side = { testbed: Testbed; auditedWorkspaceId: string; database: Database };

export const growth: Benchmark = {
  name: "growth",
  description: `CPU time of a turn, durations of a usage audit and a sweep: with ${MESSAGES.toLocaleString("en")} stored messages ÷ with 10,000`,
  hintIfMissed: "probably a statement that reads more rows when more are stored; check the query plans",
  async run({ rounds, scale }, progress) {
    const sides: Side[] = [];
    try {
      const small = await startSide(scale);
      sides.push(small);
      const large = await startSide(scale);
      sides.push(large);
      const seconds = await fill(large.testbed, scale, progress);
      const turnCost = await compareTurns(small.testbed, large.testbed, { rounds, scale }, progress);
      turnCost.detail += `; messages stored in ${seconds.toFixed(0)} s over ${WORKSPACES} workspaces`;
      return [
        turnCost,
        await compareDurations("usage audit of a workspace's month", { small, large }, rounds, measureAudit, progress),
        await compareDurations("sweep", { small, large }, rounds, measureSweeps, progress),
      ];
    } finally {
      for (const { testbed, database } of sides) await database.end().then(() => testbed.stop());
    }
  },
};

async function startSide(scale: number): Promise<Side> {
  const testbed = await startTestbed("tokens-100");
  try {
    const { admin, database } = testbed.system;
    const { workspaceId } = await createTenant(admin, { plan: BENCH_PLAN });
    await storeTurns(database.url, { workspaceId, turns: Math.ceil(AUDITED_TURNS * scale) });
    const options = { url: database.url, applicationName: "bench", maxConnections: 1 };
    return { testbed, auditedWorkspaceId: workspaceId, database: openDatabase(options, createLogger("bench", "warn")) };
  } catch (error) {
    await testbed.stop();
    throw error;
  }
}

/** Stores MESSAGES × `scale` messages. Returns the seconds that this took, without the vacuum. */
async function fill({ system, tenant }: Testbed, scale: number, progress: (line: string) => void): Promise<number> {
  const { url } = system.database;
  const started = performance.now();
  await storeTurns(
    url,
    { workspaceId: tenant.workspaceId, turns: (MESSAGES * scale) / 2, workspaces: WORKSPACES },
    (turns) => progress(`${(turns * 2).toLocaleString("en")} messages stored`),
  );
  const seconds = (performance.now() - started) / 1_000;
  await vacuumDatabase(url);
  progress("vacuumed");
  return seconds;
}

async function compareTurns(
  small: Testbed,
  large: Testbed,
  { rounds, scale }: RunOptions,
  progress: (line: string) => void,
): Promise<Figure> {
  const warmUpShape = { callers: 16, turns: Math.ceil(WARM_UP_TURNS * scale), warmUpTurns: 0 };
  const shape = { callers: 16, turns: Math.ceil(300 * scale), warmUpTurns: Math.ceil(100 * scale) };
  for (const testbed of [small, large]) await measureLoad(parleyLoad(testbed, warmUpShape), []);
  const cost = async (testbed: Testbed) => [
    (await measureLoad(parleyLoad(testbed, shape), testbed.servicePids())).cpuMsPerTurn,
  ];
  const costs: { large: number; small: number }[] = [];
  for (let round = 1; round <= rounds; round++) {
    const [[smallMs = 0] = [], [largeMs = 0] = []] = await measureAlternately(ALTERNATIONS, [
      () => cost(small),
      () => cost(large),
    ]);
    costs.push({ small: smallMs, large: largeMs });
    progress(`round ${round}: large database ${largeMs.toFixed(2)} ms, small ${smallMs.toFixed(2)} ms`);
  }
  const value = median(costs.map((each) => each.large / each.small));
  const detail = `${median(costs.map((each) => each.large)).toFixed(2)} ms, small database ${median(costs.map((each) => each.small)).toFixed(2)} ms`;
  return atMost(CPU_GOAL, { what: "CPU per turn", value, unit: "×", detail });
}

/** Compares the durations of an operation. Discards the first measurement of each side, which warms up the caches. */
async function compareDurations(
  what: string,
  { small, large }: { small: Side; large: Side },
  rounds: number,
  measure: (side: Side) => Promise<number>,
  progress: (line: string) => void,
): Promise<Figure> {
  for (const side of [small, large]) await measure(side);
  const [smallMs, largeMs]: [number[], number[]] = [[], []];
  for (let measurement = 0; measurement < rounds * MEASUREMENTS; measurement++) {
    smallMs.push(await measure(small));
    largeMs.push(await measure(large));
  }
  const detail = `${median(largeMs).toFixed(2)} ms, small database ${median(smallMs).toFixed(2)} ms`;
  progress(`${what}: ${detail}`);
  return atMost(DURATION_GOAL, { what, value: median(largeMs) / median(smallMs), unit: "×", detail });
}

/** Returns the milliseconds that the CLI takes to audit the current month. */
async function measureAudit({ testbed, auditedWorkspaceId }: Side): Promise<number> {
  const started = performance.now();
  await runCliJson(["usage-audit", "--workspace", auditedWorkspaceId], cliEnv(testbed.system));
  return performance.now() - started;
}

/** Returns the mean milliseconds of readSweepMark plus sweep. Without `openedSince`, both functions read turns of any age. */
async function measureSweeps({ database }: Side): Promise<number> {
  const started = performance.now();
  for (let count = 0; count < SWEEPS_PER_MEASUREMENT; count++) {
    await readSweepMark(database);
    await sweep(database, {
      leaseSeconds: 30,
      databaseRespondedAt: new Date().toISOString(),
      graceSeconds: 15,
      limit: 200,
    });
  }
  return (performance.now() - started) / SWEEPS_PER_MEASUREMENT;
}
