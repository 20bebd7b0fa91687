import { expect, test } from "vitest";
import { runTool } from "../run-tool.ts";

test("the dry run pins every container, and writes bills of materials and checksums", {
  timeout: 120_000,
}, async () => {
  const args = ["--experimental-strip-types", "tools/release/main.ts", "dry-run"];
  const { isOk, stdout, stderr } = await runTool(process.execPath, args);
  expect(isOk, stderr).toBe(true);
  expect(stdout).toMatch(/parley-\d+\.\d+\.\d+\.tgz: \d+ containers, each with its image's digest/);
  for (const file of ["parley.cyclonedx.json", "parley.spdx.json", ".tgz"]) expect(stdout).toContain(file);
});
