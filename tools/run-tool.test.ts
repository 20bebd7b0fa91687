import { expect, test } from "vitest";
import { runTool } from "./run-tool.ts";

test("returns the exit code and the output of a program that fails", async () => {
  expect(await runTool("sh", ["-c", "echo out; echo err >&2; exit 3"])).toEqual({
    isOk: false,
    code: 3,
    stdout: "out\n",
    stderr: "err\n",
  });
});

test("throws an error with the signal when the program is killed", async () => {
  await expect(runTool("sh", ["-c", "kill -KILL $$"])).rejects.toThrow(/^sh was ended by SIGKILL$/);
});

test("throws an error with the time limit when the program exceeds it", async () => {
  await expect(runTool("sleep", ["60"], { timeoutMs: 50 })).rejects.toThrow(/^sleep did not end within 50 ms$/);
});

test("throws an error that names pnpm when the program is missing", async () => {
  await expect(runTool("no-such-program", [])).rejects.toThrow(/^cannot run no-such-program: .* pnpm/);
});
