import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { byPlace, inTurn } from "../support/in-turn.ts";
import { measure, parleyPlan, relayPlan, type Shape } from "../support/load.ts";
import { keepProfile, profiling } from "../support/profile.ts";
import { setStage } from "../support/stage.ts";
import { median, sum } from "../support/statistics.ts";
import type { Effort, Figure, Row } from "./row.ts";

type Form = {
  name: string;
  model: string;
  shape: Shape;
  /** Turns that each side serves before the first round: processes run for weeks, and in their first turns compile their code. */
  beforehand: number;
  /** So often both sides take turns in a round. */
  slices: number;
};

const FORMS: Form[] = [
  {
    name: "at once, 16 callers",
    model: "tokens-100",
    shape: { callers: 16, turns: 300, warmUp: 100 },
    beforehand: 4_000,
    slices: 4,
  },
  {
    name: "paced at 50 ms, 200 callers",
    model: "tokens-100-every-50",
    shape: { callers: 200, turns: 200, warmUp: 200 },
    beforehand: 1_000,
    slices: 2,
  },
];

/** CPU of all four services together for one 100-token turn, against the bare relay's. */
export const turnCost: Row = {
  name: "turn-cost",
  about: "CPU of the four services ÷ CPU of the bare relay, one 100-token turn",
  inTheWay:
    "a turn is stored when it begins and when it ends, counted and limited: three statements that write and a script in Redis, half of what all of the relay takes; its request and its reply cross one more hop",
  async run(effort, progress) {
    const figures: Figure[] = [];
    for (const form of FORMS) figures.push(await compare(form, effort, progress));
    if (effort.profileDir !== undefined && FORMS[0]) await profile(FORMS[0], effort.profileDir, progress);
    return figures;
  },
};

async function compare(
  { name, model, shape, beforehand, slices }: Form,
  { rounds, scale }: Effort,
  progress: (line: string) => void,
): Promise<Figure> {
  const stage = await setStage(model);
  const sized = { ...shape, turns: Math.ceil(shape.turns * scale), warmUp: Math.ceil(shape.warmUp * scale) };
  try {
    const parley: number[] = [];
    const relay: number[] = [];
    /** By service, a round each. */
    const splits: number[][] = [];
    const byRelay = (each: Shape) => measure(relayPlan(stage, model, each), [stage.relay.pid]);
    const byParley = (each: Shape) => measure(parleyPlan(stage, each), stage.servicePids());

    const first = { ...sized, turns: Math.ceil(beforehand * scale), warmUp: 0 };
    const cold = { parley: await byParley(first), relay: await byRelay(first) };
    progress(
      `${name}, the first ${first.turns} turns: Parley ${cold.parley.cpuMsPerTurn.toFixed(2)} ms, bare relay ${cold.relay.cpuMsPerTurn.toFixed(2)} ms`,
    );
    for (let round = 1; round <= rounds; round++) {
      const [bare = [], whole = []] = await inTurn(slices, [
        async () => (await byRelay(sized)).cpuMsPerTurnOf,
        async () => (await byParley(sized)).cpuMsPerTurnOf,
      ]);
      relay.push(sum(bare));
      parley.push(sum(whole));
      splits.push(whole);
      progress(
        `${name}, round ${round}: Parley ${parley.at(-1)?.toFixed(2)} ms, bare relay ${relay.at(-1)?.toFixed(2)} ms`,
      );
    }
    const value = median(parley.map((each, i) => each / (relay[i] ?? Number.NaN)));
    const [edge = 0, conversation = 0, quota = 0, llm = 0] = byPlace(splits).map(median);
    const detail = `Parley ${median(parley).toFixed(2)} ms (edge ${edge.toFixed(2)}, conversation ${conversation.toFixed(2)}, quota ${quota.toFixed(2)}, llm-proxy ${llm.toFixed(2)}), bare relay ${median(relay).toFixed(2)} ms; the first ${first.turns} turns of new processes: ${cold.parley.cpuMsPerTurn.toFixed(2)} and ${cold.relay.cpuMsPerTurn.toFixed(2)} ms`;
    return { what: name, value, unit: "×", goal: "≤ 1.0", met: value <= 1, detail };
  } finally {
    await stage.stop();
  }
}

/** A run of its own, since a profiler costs something too. */
async function profile({ model, shape }: Form, into: string, progress: (line: string) => void): Promise<void> {
  const raw = await mkdtemp(join(tmpdir(), "parley-profile-"));
  const services = ["edge", "conversation", "quota", "llm-proxy"] as const;
  const env = Object.fromEntries(services.map((name) => [name, profiling(join(raw, name))]));
  const stage = await setStage(model, { env });
  try {
    await measure(parleyPlan(stage, { ...shape, turns: 1_600 }), []);
  } finally {
    await stage.stop();
  }
  for (const name of services) {
    progress(`profile of ${name}:`);
    for (const { percent, name: called, place } of await keepProfile(join(raw, name), into, name))
      progress(`  ${percent.toFixed(1).padStart(5)} %  ${called}  ${place}`);
  }
  await rm(raw, { recursive: true });
}
