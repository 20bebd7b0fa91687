import { stat } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { readSources } from "./repository.ts";
import { ROOT } from "./run-tool.ts";

const [guide] = await readSources("CONTRIBUTING.md");
/** The repository's paths that the guide names, in its text and in its tree. */
const paths = guide?.text.match(
  /(?<![\w./-])(?:\.ci|proto|services|packages|charts|deploy|tests|bench|tools|docs)\/[\w./-]*/g,
);

test("CONTRIBUTING.md names the files on the path of a chat message", () => {
  expect(paths?.filter((path) => path.startsWith("services/") && path.endsWith(".ts")).length).toBeGreaterThan(14);
});

test.each([...new Set(paths)])("%s, which CONTRIBUTING.md names, exists", async (path) => {
  await expect(stat(join(ROOT, path))).resolves.toBeDefined();
});
