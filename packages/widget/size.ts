import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildWidget } from "./build.ts";
import type { Manifest } from "./src/assets.ts";

// The promise is 4 KB and 15 KB; a KB of 1,000 bytes keeps it however it is read.
const KB = 1000;

/** The most the widget may weigh, in bytes after gzip. */
export const LIMITS = { launcher: 4 * KB, total: 15 * KB };

/** Bytes after gzip: what a page loads before the visitor opens the widget, and with everything, the largest language too. */
export function measure(manifest: Manifest): { launcher: number; total: number } {
  const size = (file: string) => manifest.files[file]?.gzipBytes ?? Number.POSITIVE_INFINITY;
  const languages = Object.keys(manifest.files).filter((file) => /^\w\w\..*\.json$/.test(file));
  const launcher = size("widget.js");
  return { launcher, total: launcher + size(manifest.panel[0]) + Math.max(...languages.map(size)) };
}

if (import.meta.main) {
  const directory = await mkdtemp(join(tmpdir(), "parley-widget-"));
  const { launcher, total } = measure(await buildWidget(directory));
  await rm(directory, { recursive: true });
  for (const [name, bytes, limit] of [
    ["launcher", launcher, LIMITS.launcher],
    ["total", total, LIMITS.total],
  ] as const) {
    const fits = bytes <= limit;
    console.log(`${name.padEnd(9)}${bytes} of ${limit} bytes gzip${fits ? "" : ": too heavy"}`);
    process.exitCode = fits ? process.exitCode : 1;
  }
}
