// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { execFile, spawnSync } from "node:child_process";
import { tmpdir } from "node:os";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { newClientAddress } from "../../system/visitors.ts";
import type { ContractSystem } from "../support/contract-system.ts";

const CHECKS = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_schema_conformance",
];

/** Sends requests that schemathesis, a Python program, generates from the OpenAPI description. A fixed seed makes the runs repeatable. */
export function schemathesisSuite(shared: () => ContractSystem): void {
  test("generated requests get only described responses, if schemathesis is installed [D31/2]", async ({ skip }) => {
    const isMissing = spawnSync("schemathesis", ["--version"]).status !== 0;
    skip(isMissing, "left out: schemathesis is not installed (pip install schemathesis)");
    const limits = ["--max-examples", "10", "--seed", "1", "--phases", "examples,fuzzing", "--no-color"];
    const headers = ["-H", "Origin: https://shop.example", "-H", `X-Forwarded-For: ${newClientAddress()}`];
    const options = ["--checks", CHECKS.join(","), ...limits, ...headers];
    const run = promisify(execFile)("schemathesis", ["run", `${shared().url()}/openapi.json`, ...options], {
      // The program writes its cache into the current directory.
      cwd: tmpdir(),
    });
    // Fails with the program's report, which is in stdout.
    const { stdout } = await run.catch((error: { stdout: string }) => {
      throw new Error(error.stdout);
    });
    expect(stdout).toMatch(/\b(\d+) generated, \1 passed/);
  }, 60_000);
}
