import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";

/** The repository root, with a trailing slash. */
export const ROOT = fileURLToPath(new URL("../", import.meta.url));
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

export type ToolResult = { isOk: boolean; stdout: string; stderr: string };

/** Runs a program of the PATH in the repository root. pnpm adds the programs of node_modules to the PATH of the scripts that it runs. */
export function runTool(command: string, args: readonly string[]): Promise<ToolResult> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { cwd: ROOT, maxBuffer: MAX_OUTPUT_BYTES }, (error, stdout, stderr) => {
      // A non-zero exit code is a result. For other errors, such as a missing program, `code` is not a number.
      if (error && typeof error.code !== "number")
        reject(
          new Error(`cannot run ${command}: start this script with pnpm, which adds node_modules/.bin to the PATH`, {
            cause: error,
          }),
        );
      else resolve({ isOk: !error, stdout, stderr });
    });
  });
}
