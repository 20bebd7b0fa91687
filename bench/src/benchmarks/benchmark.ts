/** One result of a benchmark, as main.ts saves it in bench/results. */
export type Figure = {
  /** For example `unpaced tokens, 16 callers`. */
  what: string;
  value: number;
  unit: string;
  goal: string;
  met: boolean;
  /** How `value` was measured, or the numbers from which it is computed. */
  detail: string;
  /** The benchmark's `hintIfMissed`, if the goal is not met. */
  limitation?: string;
};

type Measurement = Pick<Figure, "what" | "value" | "unit" | "detail">;

/** Returns a figure whose goal is an upper bound. */
export function atMost(goal: number, measurement: Measurement): Figure {
  return { ...measurement, goal: `≤ ${goal} ${measurement.unit}`.trim(), met: measurement.value <= goal };
}

export function atLeast(goal: number, measurement: Measurement): Figure {
  return { ...measurement, goal: `≥ ${goal} ${measurement.unit}`.trim(), met: measurement.value >= goal };
}

export type RunOptions = {
  rounds: number;
  /** Factor for the numbers of turns and messages. Less than 1 for a quick check. */
  scale: number;
  /** Folder for CPU profiles. */
  profileDir?: string;
};

export type Benchmark = {
  name: string;
  description: string;
  /** The likely cause of a missed goal, or what to check in that case. */
  hintIfMissed: string;
  run(runOptions: RunOptions, progress: (line: string) => void): Promise<Figure[]>;
};
