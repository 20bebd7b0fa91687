/** What is looked at, in the order of the report. */
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
] as const;

export type Check = (typeof CHECKS)[number];

export type Result = "pass" | "warn" | "fail";

/** What was found of one check, and what mends it. */
export type Finding = {
  check: Check;
  result: Result;
  message: string;
  /** Of what is wrong; the proxy's ways of saying it are looked up in mends.ts. */
  ailment?: Ailment;
  /** What to do, whatever stands between. */
  mend?: string;
};

/** What proxies are mended of. */
export type Ailment = "buffering" | "compression" | "timeout" | "address" | "forged" | "http1" | "cors" | "cache";

export function pass(check: Check, message: string): Finding {
  return { check, result: "pass", message };
}

export function warn(check: Check, message: string, how: Pick<Finding, "ailment" | "mend"> = {}): Finding {
  return { check, result: "warn", message, ...how };
}

export function fail(check: Check, message: string, how: Pick<Finding, "ailment" | "mend"> = {}): Finding {
  return { check, result: "fail", message, ...how };
}

export function worst(findings: readonly Finding[]): Result {
  const has = (result: Result) => findings.some((finding) => finding.result === result);
  return has("fail") ? "fail" : has("warn") ? "warn" : "pass";
}
