/** EX_CONFIG of sysexits.h. In the chart, a container of the migrations' Job with this exit code fails the Job without further attempts. */
export const PREFLIGHT_EXIT_CODE = 78;

/**
 * Runs checks one after another, and returns the messages of the errors that they throw, without duplicates. If the checks do not end within
 * `timeoutMs`, returns what they have found and one message more.
 */
export async function listErrorMessages(
  checks: readonly (() => Promise<unknown>)[],
  timeoutMs: number,
): Promise<string[]> {
  const messages = new Set<string>();
  const { promise: expired, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(() => {
    messages.add(`the checks did not end within ${timeoutMs / 1_000} s`);
    resolve();
  }, timeoutMs);
  const runAll = async () => {
    for (const check of checks) {
      await check().catch((error: unknown) => messages.add(error instanceof Error ? error.message : String(error)));
    }
  };
  await Promise.race([runAll(), expired]);
  clearTimeout(timer);
  return [...messages];
}

/** Returns an error's message, in plain words if a file does not exist. */
export function describeFileError(error: unknown): string {
  const { code, path } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return `the file ${path} does not exist`;
  return error instanceof Error ? error.message : String(error);
}
