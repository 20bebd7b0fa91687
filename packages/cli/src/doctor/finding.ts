/** The checks, in report order. */
export const CHECKS = [
  "dns",
  "connection",
  "certificate",
  "http_version",
  "access",
  "cors",
  "buffering",
  "compression",
  "idle_timeout",
  "client_address",
  "forged_address",
  "clock",
  "visitor_token",
] as const;

export type Check = (typeof CHECKS)[number];

export type CheckResult = "pass" | "warn" | "fail";

export type Finding = {
  check: Check;
  result: CheckResult;
  message: string;
  /** Set if the fix depends on the proxy: fixes.ts lists the fixes of each cause. */
  cause?: Cause;
  /** A fix that does not depend on the proxy. */
  fix?: string;
};

/** The kinds of problems that a proxy setting fixes. */
export type Cause = "buffering" | "compression" | "timeout" | "address" | "forged" | "http1" | "cors" | "cache";

export function pass(check: Check, message: string): Finding {
  return { check, result: "pass", message };
}

export function warn(check: Check, message: string, advice: Pick<Finding, "cause" | "fix"> = {}): Finding {
  return { check, result: "warn", message, ...advice };
}

export function fail(check: Check, message: string, advice: Pick<Finding, "cause" | "fix"> = {}): Finding {
  return { check, result: "fail", message, ...advice };
}

/** Returns `pass` if there are no findings. */
export function findWorstResult(findings: readonly Finding[]): CheckResult {
  const has = (result: CheckResult) => findings.some((finding) => finding.result === result);
  return has("fail") ? "fail" : has("warn") ? "warn" : "pass";
}
