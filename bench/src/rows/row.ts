export type Figure = {
  /** What was measured, e.g. `at once, 16 callers`. */
  what: string;
  /** The figure that the goal speaks of. */
  value: number;
  unit: string;
  goal: string;
  met: boolean;
  /** What went into it, for whoever looks closer. */
  detail: string;
  /** Why the goal is not met, when it is not. */
  inTheWay?: string;
};

/** How much is measured: whole rounds for a result worth quoting, or a glance that shows that the bench works. */
export type Effort = {
  rounds: number;
  scale: number;
  /** Where CPU profiles are to be kept, if any are wanted. */
  profileDir?: string;
};

export type Row = {
  name: string;
  about: string;
  /** What stands in the way of its goals, where they are not met. */
  inTheWay: string;
  run(effort: Effort, progress: (line: string) => void): Promise<Figure[]>;
};
