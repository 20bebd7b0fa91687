import { Buffer } from "node:buffer";
import { invalidArgument } from "@parley/service-kit";

const MAX_LOGO_PIXELS = 1_024;

export type LogoImage = { contentType: string; width: number; height: number };

type Size = Omit<LogoImage, "contentType">;

/** The formats, each with a function that returns the size in pixels, or undefined for other content. SVG is not among them, because it may contain scripts. */
const FORMATS: readonly (readonly [contentType: string, readSize: (image: Buffer) => Size | undefined])[] = [
  ["image/png", readPngSize],
  ["image/jpeg", readJpegSize],
  ["image/webp", readWebpSize],
  ["image/gif", readGifSize],
];

/** Recognizes an image by its bytes. Throws invalid_argument unless it is a PNG, JPEG, WebP or GIF within the limits. Does not decode it. */
export function readLogo(content: Uint8Array): LogoImage {
  const image = Buffer.from(content);
  for (const [contentType, readSize] of FORMATS) {
    const size = readSize(image);
    if (size === undefined) continue;
    if (Math.min(size.width, size.height) < 1 || Math.max(size.width, size.height) > MAX_LOGO_PIXELS)
      throw invalidArgument("the image must have 1 to 1,024 pixels on each side", "logo_too_large");
    return { contentType, ...size };
  }
  throw invalidArgument("content must be a PNG, JPEG, WebP or GIF image", "unsupported_logo");
}

const PNG_START = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]);

/** The chunk IHDR comes first and begins with the size. */
function readPngSize(image: Buffer): Size | undefined {
  if (image.length < 33 || !image.subarray(0, PNG_START.length).equals(PNG_START)) return undefined;
  return { width: image.readUInt32BE(16), height: image.readUInt32BE(20) };
}

/** Markers of a frame's header: SOF0 to SOF15, without DHT, JPG and DAC. */
const isFrameHeader = (marker: number) => marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);

/** Skips segments up to the frame's header. */
function readJpegSize(image: Buffer): Size | undefined {
  if (image.length < 4 || image.readUInt16BE(0) !== 0xffd8) return undefined;
  for (let at = 2; at + 9 <= image.length && image[at] === 0xff; ) {
    const marker = image[at + 1] ?? 0;
    if (isFrameHeader(marker)) return { height: image.readUInt16BE(at + 5), width: image.readUInt16BE(at + 7) };
    // A marker may follow any number of fill bytes.
    at += marker === 0xff ? 1 : 2 + image.readUInt16BE(at + 2);
  }
  return undefined;
}

/** A RIFF container whose first chunk is a lossy frame (VP8), a lossless one (VP8L), or the header of an extended file (VP8X). */
function readWebpSize(image: Buffer): Size | undefined {
  if (image.length < 30 || image.toString("latin1", 0, 4) !== "RIFF" || image.toString("latin1", 8, 12) !== "WEBP")
    return undefined;
  switch (image.toString("latin1", 12, 16)) {
    case "VP8 ":
      if (image.readUIntBE(23, 3) !== 0x9d012a) return undefined;
      return { width: image.readUInt16LE(26) & 0x3fff, height: image.readUInt16LE(28) & 0x3fff };
    case "VP8L": {
      if (image[20] !== 0x2f) return undefined;
      const bits = image.readUInt32LE(21);
      return { width: 1 + (bits & 0x3fff), height: 1 + ((bits >> 14) & 0x3fff) };
    }
    case "VP8X":
      return { width: 1 + image.readUIntLE(24, 3), height: 1 + image.readUIntLE(27, 3) };
    default:
      return undefined;
  }
}

function readGifSize(image: Buffer): Size | undefined {
  if (image.length < 14 || !["GIF87a", "GIF89a"].includes(image.toString("latin1", 0, 6))) return undefined;
  return { width: image.readUInt16LE(6), height: image.readUInt16LE(8) };
}
