import { expect, test } from "vitest";
import { readAuditProblems } from "./audit.ts";
import { NotCheckedError } from "./problems.ts";

test("readAuditProblems returns the reported vulnerabilities, and throws NotCheckedError if the registry cannot run the audit", () => {
  expect(readAuditProblems({ isOk: true, stdout: "No known vulnerabilities found", stderr: "" })).toEqual([]);
  const report = "1 vulnerabilities found\nSeverity: 1 high";
  expect(readAuditProblems({ isOk: false, stdout: report, stderr: "" })).toEqual([report]);
  const audit = () => readAuditProblems({ isOk: false, stdout: "", stderr: "Error: ERR_PNPM_AUDIT_BAD_RESPONSE" });
  expect(audit).toThrow(NotCheckedError);
  expect(audit).toThrow("ERR_PNPM_AUDIT_BAD_RESPONSE");
});
