import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import pixelmatch from "pixelmatch";
import { PNG } from "pngjs";

const REFERENCES_DIR = join(import.meta.dirname, "references");
/** Where a failed comparison stores its images; not committed. */
const DIFFERENCES_DIR = join(import.meta.dirname, "differences");

/**
 * The comparison averages the expected and the actual image over blocks, so that it ignores differences in anti-aliasing. At most `allowed`
 * blocks may differ by more than `threshold` (0 to 1). Small blocks detect small changes such as an icon. Large blocks detect a slight color
 * change of a large surface.
 */
const SCALES = [
  { blockPx: 4, threshold: 0.06, allowed: 5 },
  { blockPx: 8, threshold: 0.015, allowed: 40 },
] as const;

/** The color difference, from 0 to 1, above which the difference image shows a pixel in red. */
const MIN_SHOWN_DIFFERENCE = 0.1;

/** Compares two PNG images. Returns an empty list if they look the same. */
function describeDifferences(expected: Buffer, actual: Buffer): string[] {
  const [expectedImage, actualImage] = [PNG.sync.read(expected), PNG.sync.read(actual)];
  if (expectedImage.width !== actualImage.width || expectedImage.height !== actualImage.height) {
    return [
      `the size is ${actualImage.width} by ${actualImage.height} pixels instead of ${expectedImage.width} by ${expectedImage.height}`,
    ];
  }
  return SCALES.flatMap(({ blockPx, threshold, allowed }) => {
    const [expectedBlocks, actualBlocks] = [averageBlocks(expectedImage, blockPx), averageBlocks(actualImage, blockPx)];
    // pixelmatch must not skip anti-aliased pixels: averaging already removed their differences.
    const options = { threshold, includeAA: true };
    const differingBlocks = pixelmatch(
      expectedBlocks.data,
      actualBlocks.data,
      undefined,
      expectedBlocks.width,
      expectedBlocks.height,
      options,
    );
    const problem = `${differingBlocks} blocks of ${blockPx} by ${blockPx} pixels differ by more than ${threshold}; at most ${allowed} may`;
    return differingBlocks > allowed ? [problem] : [];
  });
}

/** Returns an image with one pixel for each block: its average color. */
function averageBlocks({ width, height, data }: PNG, blockPx: number): PNG {
  const small = new PNG({ width: Math.ceil(width / blockPx), height: Math.ceil(height / blockPx) });
  const sums = new Float64Array(small.data.length);
  const pixelCounts = new Uint32Array(small.width * small.height);
  // Each pixel has four bytes: red, green, blue and alpha.
  for (let at = 0; at < data.length; at++) {
    const pixel = at >> 2;
    const [x, y] = [pixel % width, Math.floor(pixel / width)];
    const block = Math.floor(y / blockPx) * small.width + Math.floor(x / blockPx);
    sums[block * 4 + (at & 3)] = (sums[block * 4 + (at & 3)] ?? 0) + (data[at] ?? 0);
    if ((at & 3) === 0) pixelCounts[block] = (pixelCounts[block] ?? 0) + 1;
  }
  for (const [at, sum] of sums.entries()) small.data[at] = Math.round(sum / (pixelCounts[at >> 2] ?? 1));
  return small;
}

/** Throws if an image differs from its reference. With PARLEY_UPDATE_LOOK=1 it saves the image as the reference instead. */
export async function expectScreenshot(name: string, actual: Buffer): Promise<void> {
  const referencePath = join(REFERENCES_DIR, `${name}.png`);
  const actualPath = join(DIFFERENCES_DIR, `${name}.png`);
  const differencePath = join(DIFFERENCES_DIR, `${name}.difference.png`);
  if (process.env.PARLEY_UPDATE_LOOK) {
    await mkdir(REFERENCES_DIR, { recursive: true });
    await writeFile(referencePath, actual);
    return;
  }
  await Promise.all([rm(actualPath, { force: true }), rm(differencePath, { force: true })]);
  const expected = await readFile(referencePath).catch(() => undefined);
  const problems = expected ? describeDifferences(expected, actual) : ["there is no reference"];
  if (problems.length > 0) {
    await mkdir(DIFFERENCES_DIR, { recursive: true });
    await Promise.all([
      writeFile(actualPath, actual),
      writeFile(differencePath, drawDifferences(expected ?? actual, actual)),
    ]);
    const relativePath = (file: string) => relative(process.cwd(), file);
    throw new Error(
      [
        `"${name}" does not match its reference: ${problems.join("; ")}.`,
        `  reference   ${relativePath(referencePath)}`,
        `  actual      ${relativePath(actualPath)}`,
        `  difference  ${relativePath(differencePath)}`,
        "If the change is intended: run npx --yes pnpm@12 look:update, check the images and commit them.",
      ].join("\n"),
    );
  }
}

/** Returns the faded reference with the differences in red. If the sizes differ, returns the actual image. */
function drawDifferences(expected: Buffer, actual: Buffer): Buffer {
  const [expectedImage, actualImage] = [PNG.sync.read(expected), PNG.sync.read(actual)];
  const { width, height } = expectedImage;
  if (width !== actualImage.width || height !== actualImage.height) {
    return actual;
  }
  const drawn = new PNG({ width, height });
  pixelmatch(expectedImage.data, actualImage.data, drawn.data, width, height, {
    threshold: MIN_SHOWN_DIFFERENCE,
    includeAA: true,
  });
  return PNG.sync.write(drawn);
}
