import { expect, test } from "vitest";
import { findings } from "./audit.ts";
import { NotChecked } from "./problems.ts";

test("distinguishes findings, a clean audit and an unavailable registry", () => {
  expect(findings({ isOk: true, stdout: "No known vulnerabilities found", stderr: "" })).toEqual([]);
  const found = "1 vulnerabilities found\nSeverity: 1 high";
  expect(findings({ isOk: false, stdout: found, stderr: "" })).toEqual([found]);
  const audit = () => findings({ isOk: false, stdout: "", stderr: "Error: ERR_PNPM_AUDIT_BAD_RESPONSE" });
  expect(audit).toThrow(NotChecked);
  expect(audit).toThrow("ERR_PNPM_AUDIT_BAD_RESPONSE");
});
