import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The repository root, with a trailing slash. */
export const ROOT = fileURLToPath(new URL("../", import.meta.url));
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

export type ToolResult = { isOk: boolean; code: number; stdout: string; stderr: string };

export type ToolOptions = {
  /** Default: the repository root. */
  cwd?: string;
  /** The program is killed after this time. Default: no limit. */
  timeoutMs?: number;
};

/**
 * Runs a program from the PATH, to which pnpm adds node_modules/.bin. Resolves even if the exit code is not 0. Rejects if the program is
 * missing, is killed or prints more than MAX_OUTPUT_BYTES.
 */
export function runTool(
  command: string,
  args: readonly string[],
  { cwd = ROOT, timeoutMs = 0 }: ToolOptions = {},
): Promise<ToolResult> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { cwd, timeout: timeoutMs, maxBuffer: MAX_OUTPUT_BYTES }, (error, stdout, stderr) => {
      const code = error === null ? 0 : error.code;
      if (typeof code === "number") return resolve({ isOk: code === 0, code, stdout, stderr });
      reject(new Error(describeFailure(command, error as ExecFileFailure, timeoutMs), { cause: error }));
    });
  });
}

type ExecFileFailure = { code?: unknown; killed?: boolean; signal?: NodeJS.Signals | null; message: string };

function describeFailure(
  command: string,
  { code, killed, signal, message }: ExecFileFailure,
  timeoutMs: number,
): string {
  if (code === "ENOENT")
    return `cannot run ${command}: start this script with pnpm, which adds node_modules/.bin to the PATH`;
  if (typeof code === "string") return `${command} failed: ${message}`;
  return killed ? `${command} did not end within ${timeoutMs} ms` : `${command} was ended by ${signal}`;
}
