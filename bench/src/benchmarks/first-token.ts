import { type LoadShape, measureLoad, parleyLoad, relayLoad } from "../support/load.ts";
import { median } from "../support/statistics.ts";
import { startTestbed } from "../support/testbed.ts";
import { atMost, type Benchmark, type Figure, type RunOptions } from "./benchmark.ts";

type Variant = { name: string; model: string; shape: LoadShape };

const VARIANTS: Variant[] = [
  { name: "1 caller", model: "tokens-10-every-50", shape: { callers: 1, turns: 40, warmUpTurns: 20 } },
  {
    name: "200 callers",
    model: "tokens-100-every-50",
    shape: { callers: 200, turns: 400, warmUpTurns: 200, rampMs: 4_000 },
  },
];
/** The largest accepted ratio of Parley's time to the bare relay's time. */
const GOAL = 2;

/** Compares the time to the first token through Parley and through a bare relay, which forwards the same provider's stream. */
export const firstToken: Benchmark = {
  name: "first-token",
  description:
    "time to the first token: through Parley ÷ through the bare relay; the provider sends a token every 50 ms",
  hintIfMissed:
    "rate limit, OpenTurn and Reserve run one after the other before the model is called: a Redis script and two SQL writes",
  async run(runOptions, progress) {
    const figures: Figure[] = [];
    for (const variant of VARIANTS) figures.push(...(await compare(variant, runOptions, progress)));
    return figures;
  },
};

async function compare({ name, model, shape }: Variant, runOptions: RunOptions, progress: (line: string) => void) {
  const testbed = await startTestbed(model);
  const scaled = {
    ...shape,
    turns: Math.ceil(shape.turns * runOptions.scale),
    warmUpTurns: Math.ceil(shape.warmUpTurns * runOptions.scale),
  };
  try {
    const relay: { p50: number; p99: number }[] = [];
    const parley: { p50: number; p99: number }[] = [];
    for (let round = 1; round <= runOptions.rounds; round++) {
      const relayResult = await measureLoad(relayLoad(testbed, model, scaled), []);
      const parleyResult = await measureLoad(parleyLoad(testbed, scaled), []);
      relay.push(relayResult.firstTokenMs);
      parley.push(parleyResult.firstTokenMs);
      progress(
        `${name}, round ${round}: p50: Parley ${parleyResult.firstTokenMs.p50.toFixed(1)} ms, bare relay ${relayResult.firstTokenMs.p50.toFixed(1)} ms; ` +
          `p99: Parley ${parleyResult.firstTokenMs.p99.toFixed(1)} ms, bare relay ${relayResult.firstTokenMs.p99.toFixed(1)} ms`,
      );
    }
    return (["p50", "p99"] as const).map((percentile) => {
      const value = median(parley.map((each, i) => each[percentile] / (relay[i]?.[percentile] ?? Number.NaN)));
      const ms = (all: { p50: number; p99: number }[]) => median(all.map((each) => each[percentile])).toFixed(1);
      const detail = `Parley ${ms(parley)} ms, bare relay ${ms(relay)} ms`;
      return atMost(GOAL, { what: `${name}, ${percentile}`, value, unit: "×", detail });
    });
  } finally {
    await testbed.stop();
  }
}
