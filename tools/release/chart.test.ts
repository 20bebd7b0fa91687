import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { ROOT } from "../run-tool.ts";
import { pinImages } from "./chart.ts";
import { type Digests, IMAGES } from "./images.ts";

const values = await readFile(join(ROOT, "charts/parley/values.yaml"), "utf8");
const digests = Object.fromEntries(IMAGES.map((image) => [image, `sha256:${image}`])) as Digests;

test("pinImages sets the registry and every image's digest, and keeps the comments", () => {
  const pinned = pinImages(values, "registry.example.com", digests);
  const components = Object.values(parse(pinned) as Record<string, unknown>).filter(hasImage);
  expect(components.map(({ image }) => image.digest).sort()).toEqual(Object.values(digests).sort());
  expect((parse(pinned) as { image: { registry: string } }).image.registry).toBe("registry.example.com");
  expect(pinned.match(/# --/g)?.length).toBe(values.match(/# --/g)?.length);
});

test("pinImages refuses values that lack an image of the release", () => {
  const without = values.replace(/^console:$/m, "other:");
  expect(() => pinImages(without, "registry.example.com", digests)).toThrow(
    "the chart has no value console.image.digest",
  );
});

function hasImage(value: unknown): value is { image: { repository: string; digest: string } } {
  return typeof value === "object" && value !== null && "image" in value && typeof value.image === "object";
}
