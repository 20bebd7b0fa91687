/** The start failed: one line for the user with the problem and the next step. Never contains a secret. */
export class StartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "StartError";
  }
}

/** Returns the system error code, such as `EACCES`. */
export function systemCode(error: unknown): string | undefined {
  const { code } = error as { code?: unknown };
  return typeof code === "string" ? code : undefined;
}
