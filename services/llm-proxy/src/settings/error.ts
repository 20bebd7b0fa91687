/** `problems` contains no secrets, so it may be logged. */
export class SettingsError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("; "));
    this.name = "SettingsError";
    this.problems = problems;
  }
}
