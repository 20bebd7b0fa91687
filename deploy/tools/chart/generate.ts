import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { golden } from "./golden.ts";
import { withValuesTable } from "./readme.ts";
import { CHART, render, valuesNames } from "./render.ts";

// Makes what is made from the chart: the README's table and the golden files. What changed is then read in the diff.
const readme = join(CHART, "README.md");
await writeFile(
  readme,
  withValuesTable(await readFile(readme, "utf8"), await readFile(join(CHART, "values.yaml"), "utf8")),
);
for (const name of await valuesNames()) {
  const { text } = await render(name);
  await mkdir(new URL("./golden/", import.meta.url), { recursive: true });
  await writeFile(golden(name), text);
}
