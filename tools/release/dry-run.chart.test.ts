import { expect, test } from "vitest";
import { runTool } from "../run-tool.ts";

test("the dry run pins each container's image to a digest, and writes bills of materials and checksums", {
  timeout: 120_000,
}, async () => {
  const args = ["--experimental-strip-types", "tools/release/main.ts", "dry-run"];
  const { isOk, stdout, stderr } = await runTool(process.execPath, args);
  expect(isOk, stderr).toBe(true);
  expect(stdout).toMatch(/parley-\d+\.\d+\.\d+\.tgz: \d+ containers, each with its image's digest/);
  const checksums = [...stdout.matchAll(/^[0-9a-f]{64} {2}(.+)$/gm)].map(([, file]) => file);
  const chart = expect.stringMatching(/^parley-\d+\.\d+\.\d+\.tgz$/);
  expect(checksums).toEqual([chart, "parley.cyclonedx.json", "parley.spdx.json"]);
});
