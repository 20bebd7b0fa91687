import { printable } from "../output/printable.ts";
import type { Result as CommandResult } from "../output/result.ts";
import type { Diagnosis } from "./diagnose.ts";
import { type CheckResult, type Finding, findWorstResult } from "./finding.ts";
import { findProxyFixes } from "./fixes.ts";
import { PROXY_NAMES, type ProxyKind } from "./proxies.ts";

const MARKS: Readonly<Record<CheckResult, string>> = { pass: "ok  ", warn: "WARN", fail: "FAIL" };
const LABEL_WIDTH = 16;

type Target = { url: URL; origin: string };

/** Reports a diagnosis as text and JSON, with exit code 1 when a check failed. */
export function reportDiagnosis({ findings, proxies, pace }: Diagnosis, { url, origin }: Target): CommandResult {
  const verdict = findWorstResult(findings);
  return {
    json: {
      url: url.href,
      origin,
      verdict,
      proxies,
      // `largest_delay_ms` is a published key of --json.
      pace:
        pace === undefined
          ? null
          : { pairs: pace.pairs, together: pace.together, largest_delay_ms: pace.delaySpreadMs },
      findings: findings.map(({ check, result, message, ...finding }) => ({
        ...{ check, result, message },
        // `mends` and `mend` are published keys of --json.
        mends: fixesOf({ ...finding, check, result, message }, proxies).map(([proxy, fix]) => ({ proxy, mend: fix })),
      })),
    },
    text: `${findings.map((finding) => describe(finding, proxies)).join("")}\n${summarize(findings, proxies)}`,
    exitCode: verdict === "fail" ? 1 : 0,
  };
}

/** Returns the fixes of a finding, each with the proxy to configure. The proxy is null for a general fix, and if no proxy is known. */
function fixesOf({ fix, cause }: Finding, proxies: readonly ProxyKind[]): [proxy: ProxyKind | null, fix: string][] {
  const generalFixes: [null, string][] = fix === undefined ? [] : [[null, fix]];
  if (cause === undefined) return generalFixes;
  const proxyFixes = findProxyFixes(cause, proxies).map(({ proxy, fix }): [ProxyKind, string] => [proxy, fix]);
  return [...generalFixes, ...(proxyFixes.length > 0 ? proxyFixes : [[null, UNKNOWN_PROXY] as [null, string]])];
}

const UNKNOWN_PROXY = "the proxy is unknown: name it with --proxy and see docs/install/ingress.md";

function describe(finding: Finding, proxies: readonly ProxyKind[]): string {
  const { check, result, message } = finding;
  const line = `${MARKS[result]}  ${check.replaceAll("_", " ").padEnd(LABEL_WIDTH)}${printable(message)}\n`;
  const fixes = fixesOf(finding, proxies).map(
    ([proxy, fix]) =>
      `      ${"".padEnd(LABEL_WIDTH)}→ ${proxy === null ? "" : `${PROXY_NAMES[proxy]}: `}${printable(fix)}\n`,
  );
  return line + fixes.join("");
}

function summarize(findings: readonly Finding[], proxies: readonly ProxyKind[]): string {
  const proxyList =
    proxies.length === 0 ? "No proxy detected." : `Proxies: ${proxies.map((each) => PROXY_NAMES[each]).join(", ")}.`;
  const count = (result: CheckResult) => findings.filter((finding) => finding.result === result).length;
  const [failed, warned] = [count("fail"), count("warn")];
  const verdict =
    failed > 0
      ? `${failed} of ${findings.length} checks failed.`
      : warned > 0
        ? `Streams work; ${warned} of ${findings.length} checks warn.`
        : `Streams work; all ${findings.length} checks passed.`;
  return `${proxyList} ${verdict}\n`;
}
