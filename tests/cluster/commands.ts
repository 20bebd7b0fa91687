import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** Aborted when this process gets SIGINT or SIGTERM: running commands get SIGTERM, and new ones fail. */
export const interruption = new AbortController();

export type CommandOptions = {
  cwd?: string;
  /** Added to this process's environment. */
  env?: Record<string, string>;
  stdin?: string;
  timeoutMs?: number;
};

/** Runs a command and returns its standard output. If it fails, throws an error with its whole output. */
export async function run(command: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { cwd = ROOT, env, stdin = "", timeoutMs = 60_000 } = options;
  const timeout = AbortSignal.timeout(timeoutMs);
  const signal = AbortSignal.any([timeout, interruption.signal]);
  const child = spawn(command, args, { cwd, env: { ...process.env, ...env }, signal });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  // Ignore the error of a command that ends before it has read its input.
  child.stdin.on("error", () => undefined);
  child.stdin.end(stdin);
  let failure: Error | undefined;
  child.once(
    "error",
    (error) => (failure = timeout.aborted ? new Error(`timed out after ${timeoutMs / 1_000} s`) : error),
  );
  // After the event `error`, a stopped command may still be cleaning up, so wait for the event `close`.
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  if (failure !== undefined) throw new Error(`${command} ${args.join(" ")}: ${failure.message}\n${stdout}${stderr}`);
  if (code !== 0) throw new Error(`${command} ${args.join(" ")}: exit code ${code}\n${stdout}${stderr}`);
  return stdout;
}

export function succeeds(command: string, args: readonly string[], options: CommandOptions = {}): Promise<boolean> {
  return run(command, args, options).then(
    () => true,
    () => false,
  );
}
