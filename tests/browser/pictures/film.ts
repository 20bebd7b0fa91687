import type { Page } from "playwright-core";
import { decode, encode, toRGBA8 } from "upng-js";
import { RECORDING_SLOWDOWN } from "./answers.ts";

/** Duration of the last frame before the film repeats. */
const LAST_FRAME_MS = 4_000;

interface Frame {
  readonly png: Buffer;
  readonly atMs: number;
}

/** Takes screenshots continuously while `act` runs. Returns an animated PNG. */
export async function film(page: Page, act: () => Promise<void>): Promise<Buffer> {
  const client = await page.context().newCDPSession(page);
  await client.send("Animation.enable");
  await client.send("Animation.setPlaybackRate", { playbackRate: 1 / RECORDING_SLOWDOWN });
  const frames: Frame[] = [];
  let isActing = true;
  const record = async () => {
    while (isActing) {
      const atMs = performance.now();
      const png = await page.screenshot({ caret: "initial" });
      // If nothing changed, the previous frame lasts longer.
      if (!frames.at(-1)?.png.equals(png)) {
        frames.push({ png, atMs });
      }
    }
  };
  const recording = record();
  await act().finally(() => {
    isActing = false;
  });
  await recording;
  await client.detach();
  return animate(frames);
}

/** Encodes the frames as an animated PNG that plays RECORDING_SLOWDOWN times faster than the recording. */
function animate(frames: readonly Frame[]): Buffer {
  const pictures = frames.map(({ png }) => {
    const { buffer, byteOffset, length } = png;
    return decode(buffer.slice(byteOffset, byteOffset + length) as ArrayBuffer);
  });
  const [{ width, height } = { width: 0, height: 0 }] = pictures;
  const delaysMs = frames.map(({ atMs }, index) => {
    const next = frames[index + 1];
    return next ? Math.round((next.atMs - atMs) / RECORDING_SLOWDOWN) : LAST_FRAME_MS;
  });
  // toRGBA8 returns the frames of a picture. A screenshot has one.
  const pixels = pictures.flatMap((picture) => toRGBA8(picture).slice(0, 1));
  return Buffer.from(encode(pixels, width, height, 256, delaysMs));
}
