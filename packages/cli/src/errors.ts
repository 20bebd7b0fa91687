/** What the person at the terminal is told, in one line that says what to do next. */
export class CliError extends Error {
  readonly exitCode: 1 | 2;

  /** `exitCode` 2 is for a command that was written wrongly. */
  constructor(message: string, options?: ErrorOptions & { exitCode?: 1 | 2 }) {
    super(message, options);
    this.name = "CliError";
    this.exitCode = options?.exitCode ?? 1;
  }
}
