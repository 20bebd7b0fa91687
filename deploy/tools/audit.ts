import { styleText } from "node:util";
import type { Problems } from "./problems.ts";
import { runTool, type ToolResult } from "./run-tool.ts";

const UNANSWERED = /ERR_PNPM_AUDIT_\w+|ERR_PNPM_META_FETCH_FAIL|E(?:AI_AGAIN|CONNREFUSED|CONNRESET|NOTFOUND|TIMEDOUT)/;

/**
 * What the registry knows against the production dependencies. Not every registry answers that question, nor is every machine online:
 * that is said loudly, and is no problem of the repository's.
 */
export async function auditProblems(): Promise<Problems> {
  const { problems, unanswered } = outcomeOf(await runTool("npx", ["--yes", "pnpm@12", "audit", "--prod"]));
  if (unanswered !== undefined)
    process.stderr.write(
      styleText("yellow", `!! DEPENDENCIES NOT AUDITED: the registry does not answer that question (${unanswered})\n`),
    );
  return problems;
}

/** The audit's findings, or why there was no audit. */
export function outcomeOf({ isOk, stdout, stderr }: ToolResult): { problems: Problems; unanswered?: string } {
  if (isOk) return { problems: [] };
  const output = stdout + stderr;
  const unanswered = UNANSWERED.exec(output)?.[0];
  return unanswered === undefined ? { problems: [output.trim()] } : { problems: [], unanswered };
}
