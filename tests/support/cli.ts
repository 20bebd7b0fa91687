import { nodeFlags, startProcess } from "@parley/testing";
import { root } from "./processes.ts";

export type CliResult = { code: number | null; stdout: string; stderr: string };

/** Runs the command line as its user does. */
export async function runCli(args: readonly string[], env: Record<string, string>, cwd = root): Promise<CliResult> {
  const parley = await startProcess({
    name: `parley ${args.join(" ")}`,
    command: process.execPath,
    args: [...nodeFlags, `${root}packages/cli/src/main.ts`, ...args],
    cwd,
    env,
  });
  const { code } = await parley.exited;
  return { code, stdout: parley.stdout(), stderr: parley.stderr() };
}

/** What a command wrote with `--json`; fails the test when it did not exit 0. */
export async function cliJson<T>(args: readonly string[], env: Record<string, string>): Promise<T> {
  const { code, stdout, stderr } = await runCli([...args, "--json"], env);
  if (code !== 0) throw new Error(`parley ${args.join(" ")} exited ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}
