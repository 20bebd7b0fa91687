import { printable } from "../output/printable.ts";
import type { Result as CommandResult } from "../output/result.ts";
import type { Diagnosis } from "./diagnose.ts";
import { type Finding, type Result, worst } from "./finding.ts";
import { mendsFor } from "./mends.ts";
import { PROXY_NAMES, type ProxyKind } from "./proxies.ts";

const MARKS: Readonly<Record<Result, string>> = { pass: "ok  ", warn: "WARN", fail: "FAIL" };
const LABEL_WIDTH = 16;

type Asked = { url: URL; origin: string };

/** A diagnosis for people and for scripts; exit code 1 when something is broken. */
export function report({ findings, proxies, pace }: Diagnosis, { url, origin }: Asked): CommandResult {
  const verdict = worst(findings);
  return {
    json: {
      url: url.href,
      origin,
      verdict,
      proxies,
      pace:
        pace === undefined
          ? null
          : { pairs: pace.pairs, together: pace.together, largest_delay_ms: pace.largestDelayMs },
      findings: findings.map(({ check, result, message, ...finding }) => ({
        ...{ check, result, message },
        mends: mendsOf({ ...finding, check, result, message }, proxies).map(([proxy, mend]) => ({ proxy, mend })),
      })),
    },
    text: `${findings.map((finding) => describe(finding, proxies)).join("")}\n${summary(findings, proxies)}`,
    exitCode: verdict === "fail" ? 1 : 0,
  };
}

/** Where to mend (null: Parley, DNS or whoever) and how. */
function mendsOf({ mend, ailment }: Finding, proxies: readonly ProxyKind[]): [where: ProxyKind | null, mend: string][] {
  const own: [null, string][] = mend === undefined ? [] : [[null, mend]];
  if (ailment === undefined) return own;
  const theirs = mendsFor(ailment, proxies).map(({ proxy, mend: how }): [ProxyKind, string] => [proxy, how]);
  return [...own, ...(theirs.length > 0 ? theirs : [[null, UNKNOWN_PROXY] as [null, string]])];
}

const UNKNOWN_PROXY = "the proxy does not show who it is: name it with --proxy, and see docs/install/ingress.md";

function describe(finding: Finding, proxies: readonly ProxyKind[]): string {
  const { check, result, message } = finding;
  const line = `${MARKS[result]}  ${check.replaceAll("_", " ").padEnd(LABEL_WIDTH)}${printable(message)}\n`;
  const mends = mendsOf(finding, proxies).map(
    ([proxy, mend]) =>
      `      ${"".padEnd(LABEL_WIDTH)}→ ${proxy === null ? "" : `${PROXY_NAMES[proxy]}: `}${printable(mend)}\n`,
  );
  return line + mends.join("");
}

function summary(findings: readonly Finding[], proxies: readonly ProxyKind[]): string {
  const between =
    proxies.length === 0
      ? "No proxy shows itself."
      : `In between: ${proxies.map((each) => PROXY_NAMES[each]).join(", ")}.`;
  const count = (result: Result) => findings.filter((finding) => finding.result === result).length;
  const [failed, warned] = [count("fail"), count("warn")];
  const verdict =
    failed > 0
      ? `${failed} of ${findings.length} checks failed.`
      : warned > 0
        ? `Streams pass; ${warned} of ${findings.length} checks warn.`
        : `Streams pass; all ${findings.length} checks are good.`;
  return `${between} ${verdict}\n`;
}
