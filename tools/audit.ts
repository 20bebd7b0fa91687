import { NotChecked, type Problems } from "./problems.ts";
import { runTool, type ToolResult } from "./run-tool.ts";

const UNANSWERED = /ERR_PNPM_AUDIT_\w+|ERR_PNPM_META_FETCH_FAIL|E(?:AI_AGAIN|CONNREFUSED|CONNRESET|NOTFOUND|TIMEDOUT)/;

/**
 * What the registry knows against the production dependencies. Not every registry answers that question, nor is every machine online:
 * then nothing is known. `npm_config_registry` names one that does.
 */
export async function auditProblems(): Promise<Problems> {
  return findings(await runTool("npx", ["--yes", "pnpm@12", "audit", "--prod"]));
}

/** What an audit found. Throws NotChecked when there was none. */
export function findings({ isOk, stdout, stderr }: ToolResult): Problems {
  if (isOk) return [];
  const output = stdout + stderr;
  const unanswered = UNANSWERED.exec(output)?.[0];
  if (unanswered !== undefined) throw new NotChecked(`the registry does not answer that question (${unanswered})`);
  return [output.trim()];
}
