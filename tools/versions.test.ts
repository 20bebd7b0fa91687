import { expect, test } from "vitest";
import { readSources } from "./repository.ts";

// A migration may name the oldest version of Parley that runs on its schema. The migrator compares that version with the
// version of packages/service-kit, so packages/service-kit must have the version of the release.
test("every package, the chart and the root have the same version", async () => {
  const manifests = await readSources("package.json", "*/package.json");
  const versions = manifests.map(({ path, text }) => [path, (JSON.parse(text) as { version: string }).version]);
  const [, root] = versions.find(([path]) => path === "package.json") ?? [];
  expect(versions).toEqual(manifests.map(({ path }) => [path, root]));
  expect(versions.map(([path]) => path)).toContain("packages/service-kit/package.json");
  const [chart] = await readSources("charts/parley/Chart.yaml");
  expect(chart?.text).toMatch(new RegExp(`^version: ${root}\nappVersion: ${root}$`, "m"));
});
