import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

/** The targets of deploy/docker/Dockerfile that a release publishes: all images except `development-sso`, which only docker-compose.yml uses. */
export const IMAGES = ["edge", "conversation", "quota", "llm-proxy", "console", "cli"] as const;

export type Image = (typeof IMAGES)[number];

/** The digest of each image, for example `sha256:5eab…`. */
export type Digests = Readonly<Record<Image, string>>;

/**
 * Reads the digests from a folder with one file per image, named after the image. Throws if a file is missing, malformed or of an unknown
 * image.
 */
export async function readDigests(folder: string): Promise<Digests> {
  const unknown = (await readdir(folder)).filter((name) => !IMAGES.includes(name as Image));
  if (unknown.length > 0) throw new Error(`${folder} has digests of unknown images: ${unknown.join(", ")}`);
  const entries = IMAGES.map(async (image) => [image, await readDigest(join(folder, image))] as const);
  return Object.fromEntries(await Promise.all(entries)) as Digests;
}

async function readDigest(file: string): Promise<string> {
  const text = await readFile(file, "utf8").catch(() => undefined);
  if (text === undefined) throw new Error(`${file} is missing: build and push this image first`);
  const digest = text.trim();
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`${file} contains no digest: ${digest}`);
  return digest;
}

/** Returns the number of containers in rendered manifests. Throws if an image is not pinned to its digest, or if there is no image. */
export function checkImages(manifests: string, registry: string, digests: Digests): number {
  const pinned = new Set(IMAGES.map((image) => `${registry}/parley/${image}@${digests[image]}`));
  const names = [...manifests.matchAll(/\bimage: "?([^"\s]+)/g)].map(([, name = ""]) => name);
  if (names.length === 0) throw new Error("the manifests have no image");
  const unpinned = new Set(names).difference(pinned);
  if (unpinned.size > 0) throw new Error(`images not pinned to their digests: ${[...unpinned].join(", ")}`);
  return names.length;
}
