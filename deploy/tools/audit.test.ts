import { expect, test } from "vitest";
import { outcomeOf } from "./audit.ts";

test("a finding is a problem, a clean audit is none, and a registry that does not answer is told from both", () => {
  expect(outcomeOf({ isOk: true, stdout: "No known vulnerabilities found", stderr: "" })).toEqual({ problems: [] });
  const found = "1 vulnerabilities found\nSeverity: 1 high";
  expect(outcomeOf({ isOk: false, stdout: found, stderr: "" })).toEqual({ problems: [found] });
  const unanswered = "ERR_PNPM_AUDIT_BAD_RESPONSE";
  expect(outcomeOf({ isOk: false, stdout: "", stderr: `Error: ${unanswered}` })).toEqual({ problems: [], unanswered });
});
