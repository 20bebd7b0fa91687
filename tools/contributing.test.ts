import { stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readSources } from "./repository.ts";
import { ROOT } from "./run-tool.ts";

const [guide] = await readSources("CONTRIBUTING.md");
/** The repository paths that the guide mentions. */
const paths = guide?.text.match(
  /(?<![\w./-])(?:\.ci|proto|services|packages|charts|deploy|tests|bench|tools|docs)\/[\w./-]*/g,
);

test("CONTRIBUTING.md mentions source files of the services at least 15 times", () => {
  expect(paths?.filter((path) => path.startsWith("services/") && path.endsWith(".ts")).length).toBeGreaterThan(14);
});

test.each([...new Set(paths)])("CONTRIBUTING.md mentions an existing path: %s", async (path) => {
  await expect(stat(join(ROOT, path))).resolves.toBeDefined();
});
