/** One figure of a benchmark's result. The files in bench/results have the same keys. */
export type Figure = {
  /** Name of the figure, e.g. `unpaced tokens, 16 callers`. */
  what: string;
  /** Value that is compared with the goal. */
  value: number;
  unit: string;
  goal: string;
  met: boolean;
  /** The measurements behind the value. */
  detail: string;
  /** The benchmark's `hintIfMissed`, if the goal is not met. */
  limitation?: string;
};

type Measurement = Pick<Figure, "what" | "value" | "unit" | "detail">;

/** Returns the figure of a measurement whose goal is an upper bound. */
export function atMost(goal: number, measurement: Measurement): Figure {
  return { ...measurement, goal: `≤ ${goal} ${measurement.unit}`.trim(), met: measurement.value <= goal };
}

/** Returns the figure of a measurement whose goal is a lower bound. */
export function atLeast(goal: number, measurement: Measurement): Figure {
  return { ...measurement, goal: `≥ ${goal} ${measurement.unit}`.trim(), met: measurement.value >= goal };
}

export type RunOptions = {
  rounds: number;
  /** Factor for the amounts of work, such as turns and messages. It is 1, or less for a quick check. */
  scale: number;
  /** Folder for CPU profiles; undefined for none. */
  profileDir?: string;
};

export type Benchmark = {
  name: string;
  description: string;
  /** The likely cause of a missed goal, or what to check in that case. The runner prints it for each missed goal. */
  hintIfMissed: string;
  run(runOptions: RunOptions, progress: (line: string) => void): Promise<Figure[]>;
};
