import { expect, test } from "vitest";
import { checkImages, type Digests, IMAGES } from "./images.ts";

const REGISTRY = "registry.example.com";
const digestOf = (character: string) => `sha256:${character.repeat(64)}`;
const digests = Object.fromEntries(IMAGES.map((image) => [image, digestOf("a")])) as Digests;
const manifest = (...names: string[]) => names.map((name) => `  - name: app\n    image: ${name}\n`).join("");

test("checkImages returns the number of containers if each image is pinned to its digest", () => {
  const names = [`"${REGISTRY}/parley/edge@${digests.edge}"`, `${REGISTRY}/parley/llm-proxy@${digests["llm-proxy"]}`];
  expect(checkImages(manifest(...names), REGISTRY, digests)).toBe(2);
});

test("checkImages throws an error that lists the images not pinned to their digests, without duplicates", () => {
  const pinned = `${REGISTRY}/parley/edge@${digests.edge}`;
  const otherDigest = `${REGISTRY}/parley/quota@${digestOf("b")}`;
  const tagged = `${REGISTRY}/parley/edge:1.2.0`;
  expect(() => checkImages(manifest(pinned, otherDigest, tagged, tagged), REGISTRY, digests)).toThrow(
    new Error(`images not pinned to their digests: ${otherDigest}, ${tagged}`),
  );
});

test("checkImages refuses manifests without an image", () => {
  expect(() => checkImages("kind: List\n", REGISTRY, digests)).toThrow(new Error("the manifests have no image"));
});
