import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";

const REFERENCES = join(import.meta.dirname, "references");
/** Where a failed comparison leaves its pictures; not committed. */
const DIFFERENCES = join(import.meta.dirname, "differences");

/**
 * How pictures are compared: both are averaged over blocks, which makes nothing of how a letter's edge is drawn, and then up
 * to `allowed` blocks may differ by more than `threshold`, of 0 to 1. Small blocks tell of small things that have
 * changed, such as an icon; large ones of a large surface whose colour has changed a little.
 */
const SCALES = [
  { blockPx: 4, threshold: 0.06, allowed: 5 },
  { blockPx: 8, threshold: 0.015, allowed: 40 },
] as const;

/** How far apart two pixels' colours are, 0 to 1, that the picture of a difference shows in red. */
const VISIBLE = 0.1;

/** What is wrong with a picture, in words; empty when it looks the same as what was expected. Both are PNG. */
export function differences(expected: Buffer, actual: Buffer): string[] {
  const [one, other] = [PNG.sync.read(expected), PNG.sync.read(actual)];
  if (one.width !== other.width || one.height !== other.height) {
    return [`it is ${other.width} by ${other.height} pixels instead of ${one.width} by ${one.height}`];
  }
  return SCALES.flatMap(({ blockPx, threshold, allowed }) => {
    const [before, now] = [inBlocks(one, blockPx), inBlocks(other, blockPx)];
    // Nothing is taken for an edge that is drawn differently: the blocks have seen to that.
    const options = { threshold, includeAA: true };
    const blocks = pixelmatch(before.data, now.data, undefined, before.width, before.height, options);
    const said = `${blocks} blocks of ${blockPx} by ${blockPx} pixels differ by more than ${threshold}; ${allowed} may`;
    return blocks > allowed ? [said] : [];
  });
}

/** Averages the blocks of a picture into a picture of as many pixels. */
function inBlocks({ width, height, data }: PNG, blockPx: number): PNG {
  const small = new PNG({ width: Math.ceil(width / blockPx), height: Math.ceil(height / blockPx) });
  const sums = new Float64Array(small.data.length);
  const counts = new Uint32Array(small.width * small.height);
  for (let at = 0; at < data.length; at++) {
    const pixel = at >> 2;
    const [x, y] = [pixel % width, Math.floor(pixel / width)];
    const block = Math.floor(y / blockPx) * small.width + Math.floor(x / blockPx);
    sums[block * 4 + (at & 3)] = (sums[block * 4 + (at & 3)] ?? 0) + (data[at] ?? 0);
    counts[block] = (counts[block] ?? 0) + (at & 1);
  }
  for (const [at, sum] of sums.entries()) {
    // Of the four bytes of a pixel two were counted.
    small.data[at] = Math.round((2 * sum) / (counts[at >> 2] ?? 2));
  }
  return small;
}

/**
 * Throws when a picture does not look like the reference of its name, and says where to see why. With
 * PARLEY_UPDATE_LOOK=1 it becomes the reference instead.
 */
export async function expectLook(name: string, actual: Buffer): Promise<void> {
  const reference = join(REFERENCES, `${name}.png`);
  const drawn = join(DIFFERENCES, `${name}.png`);
  const difference = join(DIFFERENCES, `${name}.difference.png`);
  if (process.env.PARLEY_UPDATE_LOOK) {
    await mkdir(REFERENCES, { recursive: true });
    await writeFile(reference, actual);
    return;
  }
  await Promise.all([rm(drawn, { force: true }), rm(difference, { force: true })]);
  const expected = await readFile(reference).catch(() => undefined);
  const found = expected ? differences(expected, actual) : ["it has no reference yet"];
  if (found.length > 0) {
    await mkdir(DIFFERENCES, { recursive: true });
    await Promise.all([writeFile(drawn, actual), writeFile(difference, picture(expected ?? actual, actual))]);
    const from = (file: string) => relative(process.cwd(), file);
    throw new Error(
      [
        `"${name}" does not look like its reference: ${found.join("; ")}.`,
        `  reference   ${from(reference)}`,
        `  drawn now   ${from(drawn)}`,
        `  difference  ${from(difference)}, in red`,
        "If the change is meant: npx --yes pnpm@12 look:update, look at the pictures, commit them.",
      ].join("\n"),
    );
  }
}

/** The reference, pale, with what is different now in red; what was drawn, where its size is another. */
function picture(expected: Buffer, actual: Buffer): Buffer {
  const [one, other] = [PNG.sync.read(expected), PNG.sync.read(actual)];
  const { width, height } = one;
  if (width !== other.width || height !== other.height) {
    return actual;
  }
  const drawn = new PNG({ width, height });
  pixelmatch(one.data, other.data, drawn.data, width, height, { threshold: VISIBLE, includeAA: true });
  return PNG.sync.write(drawn);
}
