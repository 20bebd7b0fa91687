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
 * launcher, the panel and the largest language file together. `chunks` are the files that the panel loads when they are first needed, each with its
 * largest language file.
 */
export function measureSizes(manifest: Manifest): { launcher: number; total: number; chunks: Map<string, number> } {
  const size = (file: string) => manifest.files[file]?.gzipBytes ?? Number.POSITIVE_INFINITY;
  /** `infix` is the name of a chunk and a period, or empty for the panel. */
  const largestTexts = (infix: string) => {
    const pattern = new RegExp(`^[a-z-]+\\.${infix}[^.]+\\.json$`);
    return Math.max(
      ...Object.keys(manifest.files)
        .filter((file) => pattern.test(file))
        .map(size),
    );
  };
  const launcher = size("widget.js");
  const { panel, ...chunks } = manifest.modules;
  return {
    launcher,
    total: launcher + size(panel?.[0] ?? "") + largestTexts(""),
    chunks: new Map(
      Object.entries(chunks).map(([name, [file]]) => [name, size(file) + largestTexts(`${name}.`)] as const),
    ),
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
