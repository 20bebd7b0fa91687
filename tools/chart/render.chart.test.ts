import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { CHART, renderChart, valuesFile } from "./render.ts";

it("renderChart does not cache a failure of helm", async () => {
  const folder = await mkdtemp(join(tmpdir(), "parley-values-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const name = join(relative(join(CHART, "ci"), folder), "late");
  await expect(renderChart(name)).rejects.toThrow("late-values.yaml");
  await copyFile(valuesFile("minimal"), valuesFile(name));
  expect(await renderChart(name)).toEqual(await renderChart("minimal"));
});
