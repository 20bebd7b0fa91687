import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { GOLDEN, goldenText } from "./golden.ts";
import { withValuesTable } from "./readme.ts";
import { CHART } from "./render.ts";

// Regenerates the table of values in the chart's README, and the golden file.
const readme = join(CHART, "README.md");
await writeFile(
  readme,
  withValuesTable(await readFile(readme, "utf8"), await readFile(join(CHART, "values.yaml"), "utf8")),
);
await writeFile(GOLDEN, await goldenText());
