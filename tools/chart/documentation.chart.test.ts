import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { runHelm } from "./helm.ts";
import { withValuesTable } from "./readme.ts";
import { CHART } from "./render.ts";

async function readValues(page: string, heading: string): Promise<string> {
  const text = await readFile(new URL(`../../docs/install/${page}`, import.meta.url), "utf8");
  const section = text.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? "";
  const block = /^```yaml\n([\s\S]*?)^```$/m.exec(section)?.[1];
  if (block === undefined) throw new Error(`${page} has no YAML in the section "${heading}"`);
  return block;
}

test.each([
  ["cluster.md", "4. The values"],
  ["production.md", "6. Create the Secret and the values"],
])("the chart renders with the values of %s", async (page, heading) => {
  const folder = await mkdtemp(join(tmpdir(), "parley-values-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "values.yaml");
  await writeFile(file, await readValues(page, heading));
  const { code, output } = await runHelm("template", "parley", CHART, "--namespace", "parley", "--values", file);
  expect(code, output).toBe(0);
});

test("the chart's README documents every value", async () => {
  const readme = await readFile(join(CHART, "README.md"), "utf8");
  expect(readme).toBe(withValuesTable(readme, await readFile(join(CHART, "values.yaml"), "utf8")));
});
