import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { SourceFile } from "./problems.ts";
import { ROOT, runTool } from "./run-tool.ts";

/** Reads the files that match git pathspecs: tracked and untracked files, but no ignored files. */
export async function readSources(...patterns: string[]): Promise<SourceFile[]> {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "--", ...patterns];
  const { isOk, stdout, stderr } = await runTool("git", args);
  if (!isOk) throw new Error(`git ls-files failed: ${stderr.trim()}`);
  const files = stdout.split("\n").map(async (path) => {
    // Git still lists a deleted file until the deletion is staged.
    const text = path === "" ? undefined : await readFile(join(ROOT, path), "utf8").catch(() => undefined);
    return text === undefined ? [] : [{ path, text }];
  });
  return (await Promise.all(files)).flat();
}

export function readTypeScript(): Promise<SourceFile[]> {
  return readSources("*.ts", "*.tsx");
}
