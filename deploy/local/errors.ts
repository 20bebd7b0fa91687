/** Thrown when `start` fails. The message is one line for the user: the problem and the next step. It must not contain a secret. */
export class StartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StartError";
  }
}

/** Returns a system error's code, such as `EACCES`. */
export function systemCode(error: unknown): string | undefined {
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : undefined;
}
