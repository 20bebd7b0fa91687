import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The top of the repository, with a slash at its end. */
export const ROOT = fileURLToPath(new URL("../", import.meta.url));
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

export type ToolResult = { isOk: boolean; stdout: string; stderr: string };

/** Runs a program at the top of the repository; the package manager's scripts have those of node_modules on their PATH. */
export function runTool(command: string, args: readonly string[]): Promise<ToolResult> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { cwd: ROOT, maxBuffer: MAX_OUTPUT_BYTES }, (error, stdout, stderr) => {
      // An exit code is an answer; anything else, such as a program that is not there, is not.
      if (error && typeof error.code !== "number")
        reject(new Error(`cannot run ${command}: run this as pnpm check`, { cause: error }));
      else resolve({ isOk: !error, stdout, stderr });
    });
  });
}
