import { NotCheckedError, type Problems } from "./problems.ts";
import { runTool, type ToolResult } from "./run-tool.ts";

const AUDIT_UNAVAILABLE =
  /ERR_PNPM_AUDIT_\w+|ERR_PNPM_META_FETCH_FAIL|E(?:AI_AGAIN|CONNREFUSED|CONNRESET|NOTFOUND|TIMEDOUT)/;

/**
 * Returns the known vulnerabilities of the production dependencies. Throws NotCheckedError if the machine is offline or the registry has no
 * audit endpoint. pnpm asks the registry that is configured, for example in `npm_config_registry`.
 */
export async function auditProblems(): Promise<Problems> {
  return readAuditProblems(await runTool("npx", ["--yes", "pnpm@12", "audit", "--prod"]));
}

/** Returns the vulnerabilities in the output of `pnpm audit`. Throws NotCheckedError if the audit did not run. */
export function readAuditProblems({ isOk, stdout, stderr }: Omit<ToolResult, "code">): Problems {
  if (isOk) return [];
  const output = stdout + stderr;
  const errorCode = AUDIT_UNAVAILABLE.exec(output)?.[0];
  if (errorCode !== undefined) throw new NotCheckedError(`the registry could not run the audit (${errorCode})`);
  return [output.trim()];
}
