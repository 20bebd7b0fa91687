import { measure, parleyPlan, relayPlan, type Shape } from "../support/load.ts";
import { setStage } from "../support/stage.ts";
import { median } from "../support/statistics.ts";
import type { Effort, Figure, Row } from "./row.ts";

type Form = { name: string; model: string; shape: Shape };

const FORMS: Form[] = [
  { name: "1 caller", model: "tokens-10-every-50", shape: { callers: 1, turns: 40, warmUp: 20 } },
  {
    name: "200 callers",
    model: "tokens-100-every-50",
    shape: { callers: 200, turns: 400, warmUp: 200, rampMs: 4_000 },
  },
];
const GOAL = 2;

/** How much later than through the bare relay a visitor sees the first token. */
export const firstToken: Row = {
  name: "first-token",
  about: "time to the first token through Parley ÷ through the bare relay, the provider sends one every 50 ms",
  inTheWay:
    "before a model is asked the limit, the opening of the turn and the hold are asked one after the other: a script in Redis and two statements that write",
  async run(effort, progress) {
    const figures: Figure[] = [];
    for (const form of FORMS) figures.push(...(await compare(form, effort, progress)));
    return figures;
  },
};

async function compare({ name, model, shape }: Form, effort: Effort, progress: (line: string) => void) {
  const stage = await setStage(model);
  const sized = {
    ...shape,
    turns: Math.ceil(shape.turns * effort.scale),
    warmUp: Math.ceil(shape.warmUp * effort.scale),
  };
  try {
    const relay: { p50: number; p99: number }[] = [];
    const parley: { p50: number; p99: number }[] = [];
    for (let round = 1; round <= effort.rounds; round++) {
      const bare = await measure(relayPlan(stage, model, sized), []);
      const whole = await measure(parleyPlan(stage, sized), []);
      relay.push(bare.firstTokenMs);
      parley.push(whole.firstTokenMs);
      progress(
        `${name}, round ${round}: p50 ${whole.firstTokenMs.p50.toFixed(1)} to ${bare.firstTokenMs.p50.toFixed(1)} ms, ` +
          `p99 ${whole.firstTokenMs.p99.toFixed(1)} to ${bare.firstTokenMs.p99.toFixed(1)} ms`,
      );
    }
    return (["p50", "p99"] as const).map((percentile): Figure => {
      const value = median(parley.map((each, i) => each[percentile] / (relay[i]?.[percentile] ?? Number.NaN)));
      const ms = (all: { p50: number; p99: number }[]) => median(all.map((each) => each[percentile])).toFixed(1);
      return {
        what: `${name}, ${percentile}`,
        value,
        unit: "×",
        goal: `≤ ${GOAL}`,
        met: value <= GOAL,
        detail: `Parley ${ms(parley)} ms, bare relay ${ms(relay)} ms`,
      };
    });
  } finally {
    await stage.stop();
  }
}
