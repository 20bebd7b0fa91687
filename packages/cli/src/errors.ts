/** An error for the user: one line that names the problem and the next step. */
export class CliError extends Error {
  readonly exitCode: 1 | 2;

  /** Use `exitCode` 2 for a usage error. */
  constructor(message: string, options?: ErrorOptions & { exitCode?: 1 | 2 }) {
    super(message, options);
    this.name = "CliError";
    this.exitCode = options?.exitCode ?? 1;
  }
}
