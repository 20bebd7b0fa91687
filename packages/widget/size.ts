import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildWidget } from "./build.ts";
import type { Manifest } from "./src/assets.ts";

/** docs/embed.md states the limits in KB. A KB is 1,000 bytes here, which is stricter than 1,024. */
const KB = 1000;

/** After gzip. */
export const LIMITS_BYTES = { launcher: 4 * KB, total: 20 * KB, chunk: 6 * KB };

/**
 * Returns sizes in bytes after gzip. `launcher` is what a page loads before the visitor opens the widget. `total` is the
 * launcher, the panel and the largest language file together. `chunks` are the files that the panel loads when they are first needed.
 */
export function measureSizes(manifest: Manifest): { launcher: number; total: number; chunks: Map<string, number> } {
  const size = (file: string) => manifest.files[file]?.gzipBytes ?? Number.POSITIVE_INFINITY;
  const languages = Object.keys(manifest.files).filter((file) => /^[a-z-]+\.[^.]+\.json$/.test(file));
  const launcher = size("widget.js");
  return {
    launcher,
    total: launcher + size(manifest.panel[0]) + Math.max(...languages.map(size)),
    chunks: new Map(manifest.chunks.map((file) => [file.replace(/\..*/, ""), size(file)])),
  };
}

if (import.meta.main) {
  const directory = await mkdtemp(join(tmpdir(), "parley-widget-"));
  const { launcher, total, chunks } = measureSizes(await buildWidget(directory));
  await rm(directory, { recursive: true });
  for (const [name, bytes, limit] of [
    ["launcher", launcher, LIMITS_BYTES.launcher],
    ["total", total, LIMITS_BYTES.total],
    ...[...chunks].map(([name, bytes]) => [name, bytes, LIMITS_BYTES.chunk] as const),
  ] as const) {
    const isTooLarge = bytes > limit;
    console.log(`${name.padEnd(9)}${bytes} of ${limit} bytes gzip${isTooLarge ? ": too large" : ""}`);
    process.exitCode = isTooLarge ? 1 : process.exitCode;
  }
}
