import { relative } from "node:path";
import type { Problems } from "./problems.ts";
import { readSources } from "./repository.ts";
import { ROOT, runTool } from "./run-tool.ts";

/**
 * Vitest configurations that the root configuration does not include: image tests need a Docker daemon, cluster tests need a Kubernetes
 * cluster, and the pictures configuration creates pictures for the documents.
 */
const OTHER_CONFIGS = [
  "tests/images/vitest.config.ts",
  "tests/cluster/vitest.config.ts",
  "tests/browser/pictures/vitest.config.ts",
];

/** Reports test files that zero or several vitest projects run, and test files that no tsconfig.json includes. */
export async function testProjectProblems(): Promise<Problems> {
  const [tests, configs] = await Promise.all([
    readSources("*.test.ts"),
    readSources("tsconfig.json", "*/tsconfig.json"),
  ]);
  const [runs, checked] = await Promise.all([
    Promise.all([listTests(), ...OTHER_CONFIGS.map((config) => listTests("--config", config))]),
    Promise.all(configs.map(({ path }) => listTypeChecked(path))),
  ]);
  return assignmentProblems(
    tests.map(({ path }) => path),
    runs.flat(),
    checked.flat(),
  );
}

/** `runs` contains a path once for each project that runs it. `checked` contains the paths that a tsconfig.json includes. */
export function assignmentProblems(
  tests: readonly string[],
  runs: readonly string[],
  checked: readonly string[],
): string[] {
  const checkedPaths = new Set(checked);
  return tests.flatMap((path) => {
    const projects = runs.filter((run) => run === path).length;
    return [
      ...(projects === 1 ? [] : [`${path}: ${projects} vitest projects run it`]),
      ...(checkedPaths.has(path) ? [] : [`${path}: no tsconfig.json includes it`]),
    ];
  });
}

async function listTests(...args: string[]): Promise<string[]> {
  const { isOk, stdout, stderr } = await runTool("vitest", ["list", "--filesOnly", "--json", ...args]);
  if (!isOk) throw new Error(`vitest cannot list the tests: ${stderr}`);
  return (JSON.parse(stdout) as { file: string }[]).map(({ file }) => relative(ROOT, file));
}

/** Throws an Error with tsc's output if tsc fails. */
export async function listTypeChecked(tsconfig: string): Promise<string[]> {
  const { isOk, stdout, stderr } = await runTool("tsc", ["--listFilesOnly", "--project", tsconfig]);
  if (!isOk) throw new Error(`tsc cannot list the files of ${tsconfig}: ${stdout}${stderr}`);
  return stdout.split("\n").map((file) => relative(ROOT, file));
}
