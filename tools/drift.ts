import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Problems } from "./problems.ts";
import { ROOT, runTool } from "./run-tool.ts";

const GENERATED = "packages/rpc/src/gen";

/** Reports each file of GENERATED that is missing, superfluous, or different from what buf generates from the protos now. */
export async function driftProblems(): Promise<Problems> {
  const fresh = await mkdtemp(join(tmpdir(), "parley-generated-"));
  try {
    const { isOk, stderr } = await runTool("buf", [
      "generate",
      "--template",
      "proto/buf.gen.yaml",
      "--output",
      fresh,
      "proto",
    ]);
    if (!isOk) return [stderr];
    return await compare(join(fresh, GENERATED), join(ROOT, GENERATED));
  } finally {
    await rm(fresh, { recursive: true, force: true });
  }
}

async function compare(fresh: string, committed: string): Promise<Problems> {
  const [expected, actual] = await Promise.all([filesIn(fresh), filesIn(committed)]);
  const names = [...new Set([...expected.keys(), ...actual.keys()])];
  return names
    .filter((name) => expected.get(name) !== actual.get(name))
    .map((name) => `${GENERATED}/${name} is stale: run pnpm generate`);
}

async function filesIn(dir: string): Promise<Map<string, string>> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const files = paths.map(async (path) => [path.slice(dir.length + 1), await readFile(path, "utf8")] as const);
  return new Map(await Promise.all(files));
}
