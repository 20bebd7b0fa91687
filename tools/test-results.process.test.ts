import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { expect, test } from "vitest";
import { ROOT, runTool } from "./run-tool.ts";
import type { FileResult } from "./test-results.ts";

const FILES = {
  "passes.test.js": `test("a", () => {}); test.skip("b", () => {});`,
  "fails.test.js": `test("a", () => {}); test("b", () => { throw new Error("fault of b"); });`,
  "hook.test.js": `describe("c", () => { beforeAll(() => { throw new Error("fault of the hook"); }); test("a", () => {}); });`,
  "import.test.js": `throw new Error("fault of the import");`,
  "unhandled.test.js": `test("a", async () => { void Promise.reject(new Error("fault of nobody")); await new Promise(setImmediate); });`,
  "crash.test.js": `test("a", () => {}); test("b", () => process.kill(process.pid, "SIGKILL"));`,
};

test("ResultsReporter attributes failures, uncaught errors and crashed workers to their files", async () => {
  const folder = await mkdtemp(join(tmpdir(), "parley-results-"));
  const results = join(folder, "results");
  const config = `import { ResultsReporter } from ${JSON.stringify(join(ROOT, "tools/test-results.ts"))};
    export default { test: { globals: true, isolate: false, maxWorkers: 2, reporters: [new ResultsReporter(${JSON.stringify(results)})] } };`;
  for (const [name, text] of Object.entries({ ...FILES, "vitest.config.js": config }))
    await writeFile(join(folder, name), text);

  expect((await runTool("vitest", ["run", "--root", folder])).code).toBe(1);

  const entries = JSON.parse(await readFile(results, "utf8")) as FileResult[];
  const result = (name: string) => entries.find(({ file }) => file === relative(ROOT, join(folder, name)));
  expect(entries).toHaveLength(Object.keys(FILES).length);
  expect(result("passes.test.js")).toMatchObject({ passed: 1, failures: [] });
  expect(result("fails.test.js")).toMatchObject({
    passed: 1,
    failures: [expect.stringMatching(/^b\nError: fault of b/)],
  });
  expect(result("hook.test.js")).toMatchObject({ failures: [expect.stringMatching("fault of the hook")] });
  expect(result("import.test.js")).toMatchObject({ failures: [expect.stringMatching("fault of the import")] });
  expect(result("unhandled.test.js")).toMatchObject({
    passed: 1,
    failures: [expect.stringMatching("fault of nobody")],
  });
  expect(result("crash.test.js")).toMatchObject({
    failures: [expect.stringMatching(/exited unexpectedly with signal SIGKILL/), "the file did not finish"],
  });
  await rm(folder, { recursive: true });
});
