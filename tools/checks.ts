import { auditProblems } from "./audit.ts";
import { dependencyProblems, lockfileProblems } from "./dependencies.ts";
import { driftProblems } from "./drift.ts";
import { importCycles } from "./import-cycles.ts";
import { layoutProblems } from "./layout.ts";
import { observabilityProblems } from "./observability/outputs.ts";
import type { Problems } from "./problems.ts";
import { readSources, readTypeScript } from "./repository.ts";
import { runTool } from "./run-tool.ts";
import { testProjectProblems } from "./test-projects.ts";
import { workflowProblems } from "./workflows.ts";

export type Check = { name: string; title: string; run: () => Promise<Problems> };

/** The slow checks come first: a pool of workers starts the checks in this order. */
export const CHECKS: readonly Check[] = [
  { name: "types", title: "types", run: checkTypes },
  { name: "format", title: "format and lint", run: () => runToolCheck("biome", "check", "--colors=force", ".") },
  { name: "drift", title: "generated code", run: driftProblems },
  { name: "observability", title: "generated dashboards and observability documents", run: observabilityProblems },
  { name: "proto", title: "proto lint", run: () => runToolCheck("buf", "lint", "proto") },
  {
    name: "breaking",
    title: "proto compatibility",
    run: () => runToolCheck("buf", "breaking", "proto", "--against", "proto/released.binpb"),
  },
  { name: "audit", title: "production dependencies without known vulnerabilities", run: auditProblems },
  { name: "layout", title: "layout and imports", run: async () => layoutProblems(await readTypeScript()) },
  { name: "cycles", title: "import cycles", run: checkCycles },
  { name: "tests", title: "each test file in one project and type-checked", run: testProjectProblems },
  {
    name: "workflows",
    title: "GitHub Actions workflows",
    run: async () => workflowProblems(await readSources(".github/workflows/*")),
  },
  { name: "dependencies", title: "a reason documented for each dependency", run: checkDependencies },
  {
    name: "lockfile",
    title: "no registry hosts in the lockfile",
    run: async () => (await readSources("pnpm-lock.yaml")).flatMap(({ text }) => lockfileProblems(text)),
  },
];

async function runToolCheck(command: string, ...args: string[]): Promise<Problems> {
  const { isOk, stdout, stderr } = await runTool(command, args);
  return isOk ? [] : [(stdout + stderr).trim()];
}

/** Type-checks the root project, and each package that has its own tsconfig.json. A repeated check checks only the files that a change affects. */
async function checkTypes(): Promise<Problems> {
  const packageConfigs = await readSources("*/tsconfig.json");
  const problems = ["tsconfig.json", ...packageConfigs.map(({ path }) => path)].map((path) => {
    const buildInfo = `node_modules/.cache/parley/types/${path.replaceAll("/", "-")}.tsbuildinfo`;
    const incremental = ["--incremental", "--tsBuildInfoFile", buildInfo];
    return runToolCheck("tsc", "--noEmit", "--pretty", "--project", path, ...incremental);
  });
  return (await Promise.all(problems)).flat();
}

async function checkCycles(): Promise<Problems> {
  return importCycles(await readTypeScript()).map((files) => `files in import cycles: ${files.join(", ")}`);
}

async function checkDependencies(): Promise<Problems> {
  const [manifests, [document]] = await Promise.all([
    readSources("package.json", "*/package.json"),
    readSources("docs/dependencies.md"),
  ]);
  return dependencyProblems(manifests, document?.text ?? "");
}
