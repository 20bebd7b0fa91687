/** What keeps Parley from starting: one line for a person, with what to do next. Never holds a secret. */
export class StartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StartError";
  }
}

/** The system's code of a failed call, such as `EACCES`. */
export function systemCode(error: unknown): string | undefined {
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : undefined;
}
