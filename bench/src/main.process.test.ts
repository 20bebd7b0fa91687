import { fileURLToPath } from "node:url";
import { nodeFlags, startProcess } from "@parley/test-support";
import { expect, test } from "vitest";

test.each(["0", "many"])("refuses --rounds %s", async (rounds) => {
  const script = fileURLToPath(new URL("main.ts", import.meta.url));
  // With an unknown benchmark, the test ends quickly even if `--rounds` is accepted.
  const args = [...nodeFlags, script, "--rounds", rounds, "no-benchmark"];
  const bench = await startProcess({ name: "bench", command: process.execPath, args });
  expect(await bench.exited).toEqual({ code: 1, signal: null });
  expect(bench.stderr()).toMatch(/--rounds <n>.*a whole number above 0/);
});
