import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { measure, parleyPlan, relayPlan, type Shape } from "../support/load.ts";
import { keepProfile, profiling } from "../support/profile.ts";
import { setStage } from "../support/stage.ts";
import { median } from "../support/statistics.ts";
import type { Effort, Figure, Row } from "./row.ts";

type Form = {
  name: string;
  model: string;
  shape: Shape;
  /** Turns that each side serves before the first round: processes run for weeks, and in their first turns compile their code. */
  beforehand: number;
};

const FORMS: Form[] = [
  {
    name: "at once, 16 callers",
    model: "tokens-100",
    shape: { callers: 16, turns: 1_200, warmUp: 400 },
    beforehand: 4_000,
  },
  {
    name: "paced at 50 ms, 200 callers",
    model: "tokens-100-every-50",
    shape: { callers: 200, turns: 400, warmUp: 200 },
    beforehand: 1_000,
  },
];

/** CPU of all four services together for one 100-token turn, against the bare relay's. */
export const turnCost: Row = {
  name: "turn-cost",
  about: "CPU of the four services ÷ CPU of the bare relay, one 100-token turn",
  inTheWay:
    "a turn is stored, counted and limited: two statements that write, one of the quota's and a script in Redis, which cost as much as all of the relay; each token crosses one more hop",
  async run(effort, progress) {
    const figures: Figure[] = [];
    for (const form of FORMS) figures.push(await compare(form, effort, progress));
    if (effort.profileDir !== undefined && FORMS[0]) await profile(FORMS[0], effort.profileDir, progress);
    return figures;
  },
};

async function compare(
  { name, model, shape, beforehand }: Form,
  { rounds, scale }: Effort,
  progress: (line: string) => void,
): Promise<Figure> {
  const stage = await setStage(model);
  const sized = { ...shape, turns: Math.ceil(shape.turns * scale), warmUp: Math.ceil(shape.warmUp * scale) };
  try {
    const parley: number[] = [];
    const relay: number[] = [];
    let split: number[] = [];
    const first = { ...sized, turns: Math.ceil(beforehand * scale), warmUp: 0 };
    const cold = [await measure(parleyPlan(stage, first), stage.servicePids())];
    cold.push(await measure(relayPlan(stage, model, first), [stage.relay.pid]));
    progress(
      `${name}, the first ${first.turns} turns: ${cold.map(({ cpuMsPerTurn }) => cpuMsPerTurn.toFixed(2)).join(" to ")} ms`,
    );
    for (let round = 1; round <= rounds; round++) {
      const bare = await measure(relayPlan(stage, model, sized), [stage.relay.pid]);
      const whole = await measure(parleyPlan(stage, sized), stage.servicePids());
      relay.push(bare.cpuMsPerTurn);
      parley.push(whole.cpuMsPerTurn);
      split = whole.cpuMsPerTurnOf;
      progress(
        `${name}, round ${round}: Parley ${whole.cpuMsPerTurn.toFixed(2)} ms, bare relay ${bare.cpuMsPerTurn.toFixed(2)} ms`,
      );
    }
    const value = median(parley.map((each, i) => each / (relay[i] ?? Number.NaN)));
    const [edge = 0, conversation = 0, quota = 0, llm = 0] = split;
    const detail = `Parley ${median(parley).toFixed(2)} ms (edge ${edge.toFixed(2)}, conversation ${conversation.toFixed(2)}, quota ${quota.toFixed(2)}, llm-proxy ${llm.toFixed(2)}), bare relay ${median(relay).toFixed(2)} ms`;
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
    await measure(parleyPlan(stage, { ...shape, turns: shape.turns * 2 }), []);
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
