import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { runCli as runCommand } from "@parley/cli/cli";
import { readConfig } from "@parley/cli/config";
import { nodeFlags, scrubbedEnv, startProcess } from "@parley/test-support";
import { ADMIN_TOKEN, INTERNAL_TOKEN, root } from "./processes.ts";
import type { SharedSystem } from "./shared-system.ts";

export type CliResult = { code: number | null; stdout: string; stderr: string };

export function cliEnv({
  conversation,
  quota,
  llm,
}: Pick<SharedSystem, "conversation" | "quota" | "llm">): Record<string, string> {
  const opsUrl = ({ opsPort }: { opsPort: number }) => `http://127.0.0.1:${opsPort}`;
  return {
    ADMIN_TOKEN,
    INTERNAL_TOKEN,
    PARLEY_CONVERSATION_URL: opsUrl(conversation),
    PARLEY_QUOTA_URL: opsUrl(quota),
    PARLEY_LLM_URL: opsUrl(llm),
  };
}

export async function runCliInChildProcess(
  args: readonly string[],
  env: Record<string, string>,
  cwd = root,
): Promise<CliResult> {
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

/** Uses much less CPU than `runCliInChildProcess`. */
export async function runCliInProcess(
  args: readonly string[],
  env: Record<string, string>,
  cwd = root,
): Promise<CliResult> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const output = Promise.all([text(stdout), text(stderr)]);
  const code = await runCommand(args, readConfig(scrubbedEnv(env), cwd), { stdout, stderr });
  stdout.end();
  stderr.end();
  const [out, err] = await output;
  return { code, stdout: out, stderr: err };
}

/** Runs a CLI command with `--json` in this process. Throws unless it exits 0. */
export async function runCliJson<T>(args: readonly string[], env: Record<string, string>): Promise<T> {
  const { code, stdout, stderr } = await runCliInProcess([...args, "--json"], env);
  if (code !== 0) throw new Error(`parley ${args.join(" ")} exited ${code}: ${stderr}`);
  return JSON.parse(stdout) as T;
}
