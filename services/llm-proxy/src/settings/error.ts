/** Everything that is wrong with the providers and routes, fit for a log line. */
export class SettingsError extends Error {
  readonly problems: readonly string[];

  constructor(problems: readonly string[]) {
    super(problems.join("; "));
    this.name = "SettingsError";
    this.problems = problems;
  }
}
