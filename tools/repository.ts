import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { SourceFile } from "./problems.ts";
import { ROOT, runTool } from "./run-tool.ts";

/** The repository's files that match git's patterns, new ones too, but nothing that is ignored. */
export async function readSources(...patterns: string[]): Promise<SourceFile[]> {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "--", ...patterns];
  const { stdout } = await runTool("git", args);
  const files = stdout.split("\n").map(async (path) => {
    // Git still lists what was just removed.
    const text = path === "" ? undefined : await readFile(join(ROOT, path), "utf8").catch(() => undefined);
    return text === undefined ? [] : [{ path, text }];
  });
  return (await Promise.all(files)).flat();
}
