import { fileURLToPath } from "node:url";
import { nodeFlags, startProcess } from "@parley/test-support";
import { expect, test } from "vitest";

test.each(["0", "many"])("refuses to run %s rounds, because goals need measurements", async (rounds) => {
  const script = fileURLToPath(new URL("main.ts", import.meta.url));
  // The unknown benchmark keeps this test short if the number is accepted.
  const args = [...nodeFlags, script, "--rounds", rounds, "no-benchmark"];
  const bench = await startProcess({ name: "bench", command: process.execPath, args });
  expect(await bench.exited).toEqual({ code: 1, signal: null });
  expect(bench.stderr()).toMatch(/--rounds <n>.*a whole number above 0/);
});
