/** A result of a benchmark. Its keys are those of the files in bench/results. */
export type Figure = {
  /** Name of the figure, e.g. `at once, 16 callers`. */
  what: string;
  /** Value that is compared with the goal. */
  value: number;
  unit: string;
  goal: string;
  met: boolean;
  /** The measurements behind the value. */
  detail: string;
  /** The benchmark's limitation, if the goal is not met. */
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

export type Effort = {
  rounds: number;
  /** Factor for the numbers of turns, messages and so on: 1, or less for a quick check. */
  scale: number;
  /** Folder for CPU profiles; undefined for none. */
  profileDir?: string;
};

export type Benchmark = {
  name: string;
  about: string;
  /** Explains what limits the figures, for goals that are not met. */
  limitation: string;
  run(effort: Effort, progress: (line: string) => void): Promise<Figure[]>;
};
