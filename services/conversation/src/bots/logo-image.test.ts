import { Buffer } from "node:buffer";
import { deflateSync } from "node:zlib";
import { expect, test } from "vitest";
import { readLogo } from "./logo-image.ts";

function png(width: number, height: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 0, 0, 0, 0], 8);
  const chunk = (type: string, data: Buffer) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(data.length);
    return Buffer.concat([length, Buffer.from(type, "latin1"), data, Buffer.alloc(4)]);
  };
  const start = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    start,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(Buffer.alloc(8))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

const hex = (text: string) => Buffer.from(text.replaceAll(" ", ""), "hex");
const webp = (chunk: string, data: string) =>
  Buffer.concat([Buffer.from("RIFF\0\0\0\0WEBP", "latin1"), Buffer.from(chunk, "latin1"), Buffer.alloc(4), hex(data)]);

test.each<[string, Buffer, object]>([
  ["PNG", png(64, 32), { contentType: "image/png", width: 64, height: 32 }],
  [
    "JPEG, after an APP0 segment and a table",
    hex("ffd8 ffe00006 4a464946 ffff c40004 0000 ffc2 0011 08 0020 0040 03 0000 0000"),
    { contentType: "image/jpeg", width: 64, height: 32 },
  ],
  ["lossy WebP", webp("VP8 ", "000000 9d012a 4000 2000 0000"), { contentType: "image/webp", width: 64, height: 32 }],
  ["lossless WebP", webp("VP8L", "2f 3fc00700 000000000000"), { contentType: "image/webp", width: 64, height: 32 }],
  ["extended WebP", webp("VP8X", "00000000 3f0000 1f0000"), { contentType: "image/webp", width: 64, height: 32 }],
  ["GIF", hex("474946383961 4000 2000 00 00 00 3b"), { contentType: "image/gif", width: 64, height: 32 }],
])("reads the type and the size of a %s", (_, image, expected) => {
  expect(readLogo(image)).toEqual(expected);
});

test.each<[string, Buffer]>([
  ["nothing", Buffer.alloc(0)],
  ["SVG", Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')],
  ["HTML", Buffer.from("<!doctype html><script>alert(1)</script>".padEnd(100))],
  ["the start of a PNG", png(64, 32).subarray(0, 20)],
  ["a JPEG without a frame", hex("ffd8 ffe00006 4a464946 ffd9 0000 0000 0000")],
  ["a JPEG that claims a long segment", hex("ffd8 ffe0ffff 4a464946 0000 0000")],
  ["a RIFF file that is no WebP", Buffer.from("RIFF\0\0\0\0WAVEfmt ".padEnd(60), "latin1")],
  ["a lossy WebP without its start code", webp("VP8 ", "000000 000000 4000 2000 0000")],
])("refuses %s", (_, content) => {
  expect(() => readLogo(content)).toThrow(expect.objectContaining({ code: "unsupported_logo" }));
});

test.each<[string, Buffer]>([["1,024 pixels", png(1_025, 64)]])("refuses an image of more than %s", (_, content) => {
  expect(() => readLogo(content)).toThrow(expect.objectContaining({ code: "logo_too_large" }));
});

test("refuses an image without pixels", () => {
  expect(() => readLogo(png(0, 64))).toThrow(expect.objectContaining({ code: "logo_too_large" }));
});
