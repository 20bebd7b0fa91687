import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { measureAlternately, transpose } from "../support/alternate.ts";
import { type LoadShape, measureLoad, parleyLoad, relayLoad } from "../support/load.ts";
import { profilingEnv, saveProfile } from "../support/profile.ts";
import { median, sum } from "../support/statistics.ts";
import { startTestbed } from "../support/testbed.ts";
import { atMost, type Benchmark, type Figure, type RunOptions } from "./benchmark.ts";

type Variant = {
  name: string;
  model: string;
  shape: LoadShape;
  /** Number of turns that Parley and the relay each run before the first round, while the new processes compile their code. */
  initialTurns: number;
  /** Number of times that a round measures the relay and then Parley. */
  alternations: number;
};

const VARIANTS: Variant[] = [
  {
    name: "unpaced tokens, 16 callers",
    model: "tokens-100",
    shape: { callers: 16, turns: 300, warmUpTurns: 100 },
    initialTurns: 4_000,
    alternations: 4,
  },
  {
    name: "paced at 50 ms, 200 callers",
    model: "tokens-100-every-50",
    shape: { callers: 200, turns: 200, warmUpTurns: 200 },
    initialTurns: 1_000,
    alternations: 2,
  },
];

/** Number of turns of the run that is profiled. */
const PROFILED_TURNS = 1_600;

/** Compares Parley with the bare relay: a minimal service without authentication, quota, limits and storage. */
export const turnCost: Benchmark = {
  name: "turn-cost",
  description: "CPU of the four services ÷ CPU of the bare relay, one 100-token turn",
  hintIfMissed:
    "the Redis script of the rate limit and three SQL writes (the turn, its reservation and its outcome) cost half as much as the whole relay; request and reply cross an additional hop",
  async run(runOptions, progress) {
    const figures: Figure[] = [];
    for (const variant of VARIANTS) figures.push(await compare(variant, runOptions, progress));
    const [variant] = VARIANTS;
    if (runOptions.profileDir !== undefined && variant)
      await saveProfiles(variant.model, { ...variant.shape, turns: PROFILED_TURNS }, runOptions.profileDir, progress);
    return figures;
  },
};

async function compare(
  { name, model, shape, initialTurns, alternations }: Variant,
  { rounds, scale }: RunOptions,
  progress: (line: string) => void,
): Promise<Figure> {
  const testbed = await startTestbed(model);
  const scaled = { ...shape, turns: Math.ceil(shape.turns * scale), warmUpTurns: Math.ceil(shape.warmUpTurns * scale) };
  try {
    // All values are CPU milliseconds per turn.
    const parleyCpuByRound: number[] = [];
    const relayCpuByRound: number[] = [];
    /** For each round, one value for each service. */
    const serviceCpuByRound: number[][] = [];
    const measureRelay = (loadShape: LoadShape) =>
      measureLoad(relayLoad(testbed, model, loadShape), [testbed.relay.pid]);
    const measureParley = (loadShape: LoadShape) => measureLoad(parleyLoad(testbed, loadShape), testbed.servicePids());

    const initialShape = { ...scaled, turns: Math.ceil(initialTurns * scale), warmUpTurns: 0 };
    const initialCost = { parley: await measureParley(initialShape), relay: await measureRelay(initialShape) };
    progress(
      `${name}, the first ${initialShape.turns} turns: Parley ${initialCost.parley.cpuMsPerTurn.toFixed(2)} ms, bare relay ${initialCost.relay.cpuMsPerTurn.toFixed(2)} ms`,
    );
    for (let round = 1; round <= rounds; round++) {
      const [relayCpu = [], parleyCpu = []] = await measureAlternately(alternations, [
        async () => (await measureRelay(scaled)).cpuMsPerTurnByProcess,
        async () => (await measureParley(scaled)).cpuMsPerTurnByProcess,
      ]);
      relayCpuByRound.push(sum(relayCpu));
      parleyCpuByRound.push(sum(parleyCpu));
      serviceCpuByRound.push(parleyCpu);
      progress(
        `${name}, round ${round}: Parley ${parleyCpuByRound.at(-1)?.toFixed(2)} ms, bare relay ${relayCpuByRound.at(-1)?.toFixed(2)} ms`,
      );
    }
    const value = median(parleyCpuByRound.map((each, i) => each / (relayCpuByRound[i] ?? Number.NaN)));
    const [edge = 0, conversation = 0, quota = 0, llm = 0] = transpose(serviceCpuByRound).map(median);
    const detail = `Parley ${median(parleyCpuByRound).toFixed(2)} ms (edge ${edge.toFixed(2)}, conversation ${conversation.toFixed(2)}, quota ${quota.toFixed(2)}, llm-proxy ${llm.toFixed(2)}), bare relay ${median(relayCpuByRound).toFixed(2)} ms; the first ${initialShape.turns} turns of new processes: Parley ${initialCost.parley.cpuMsPerTurn.toFixed(2)} ms, bare relay ${initialCost.relay.cpuMsPerTurn.toFixed(2)} ms`;
    return atMost(1, { what: name, value, unit: "×", detail });
  } finally {
    await testbed.stop();
  }
}

/** Saves a CPU profile of each service. Uses a separate run, because profiling itself costs CPU time. */
export async function saveProfiles(
  model: string,
  shape: LoadShape,
  targetDir: string,
  progress: (line: string) => void,
): Promise<void> {
  const rawDir = await mkdtemp(join(tmpdir(), "parley-profile-"));
  const services = ["edge", "conversation", "quota", "llm-proxy"] as const;
  const env = Object.fromEntries(services.map((name) => [name, profilingEnv(join(rawDir, name))]));
  try {
    const testbed = await startTestbed(model, { env });
    try {
      await measureLoad(parleyLoad(testbed, shape), []);
      // The testbed kills the edges, and a killed process writes no profile.
      await Promise.all(testbed.system.edges.map((edge) => edge.stop()));
    } finally {
      await testbed.stop();
    }
    for (const name of services) {
      progress(`profile of ${name}:`);
      for (const { percent, name: functionName, location } of await saveProfile(join(rawDir, name), targetDir, name))
        progress(`  ${percent.toFixed(1).padStart(5)} %  ${functionName}  ${location}`);
    }
  } finally {
    await rm(rawDir, { recursive: true });
  }
}
