import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT, runTool } from "../run-tool.ts";
import { type Manifest, nameOf } from "./manifest.ts";
import { KNOWN_KINDS } from "./models.ts";

const NODE_MODULES = join(ROOT, "tools/node_modules");

/**
 * Returns an error for each key that Kubernetes does not know and would silently drop. Declares each manifest as a TypeScript constant of its
 * kind's type, and type-checks all constants in one run. Skips manifests whose kind is not in KNOWN_KINDS.
 */
export async function findUnknownKeys(manifests: readonly Manifest[]): Promise<string[]> {
  // Inside node_modules, so that tsc resolves the types.
  const folder = await mkdtemp(join(NODE_MODULES, ".manifests-"));
  try {
    const file = join(folder, "manifests.ts");
    const blocks = manifests.map(asConstant);
    await writeFile(file, blocks.join("\n"));
    const output = await typeCheck(folder);
    return output.flatMap((line) => {
      const [, lineNumber, message] = /manifests\.ts\((\d+),\d+\): error TS\d+: (.+)$/.exec(line) ?? [];
      if (lineNumber === undefined) return /error TS/.test(line) ? [line] : [];
      const manifest = manifests[blockIndexAt(blocks, Number(lineNumber))];
      return [`${manifest === undefined ? "?" : nameOf(manifest)}: ${message}`];
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function asConstant(manifest: Manifest, index: number): string {
  const known = KNOWN_KINDS[`${manifest.apiVersion}/${manifest.kind}`];
  if (known === undefined) return "";
  const type = `import("${known.module}").I${manifest.kind}`;
  return `export const manifest${index}: ${type} = ${JSON.stringify(manifest, null, 1)};`;
}

/** Returns the index of the block that contains a line of the joined file. Line numbers start at 1. */
function blockIndexAt(blocks: readonly string[], lineNumber: number): number {
  let lastLineNumber = 0;
  return blocks.findIndex((block) => {
    lastLineNumber += block.split("\n").length;
    return lineNumber <= lastLineNumber;
  });
}

async function typeCheck(folder: string): Promise<string[]> {
  await writeFile(
    join(folder, "tsconfig.json"),
    JSON.stringify({
      compilerOptions: {
        module: "nodenext",
        target: "es2024",
        strict: true,
        noEmit: true,
        skipLibCheck: true,
        types: [],
      },
      files: ["manifests.ts"],
    }),
  );
  const command = join(ROOT, "node_modules/.bin/tsc");
  const { isOk, stdout, stderr } = await runTool(command, ["--project", folder], { timeoutMs: 60_000 });
  if (!isOk && stdout === "") throw new Error(`tsc failed: ${stderr}`);
  return stdout.split("\n");
}
