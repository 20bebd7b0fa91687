import { expect, test } from "vitest";
import { createFrameCheck } from "./body-check.ts";

/** Returns a frame of a length. Only its length is checked. */
function frameOf(length: number): Buffer {
  const frame = Buffer.alloc(Math.max(4, Math.min(length, 64)), 0xff);
  frame.writeUInt32BE(length);
  return frame;
}

/** Passes bytes in pieces to a check. Returns the reason of its failure. */
function check(bytes: Buffer, pieceBytes: number): string | undefined {
  const frames = createFrameCheck();
  try {
    for (let at = 0; at < bytes.length; at += pieceBytes) frames.push(bytes.subarray(at, at + pieceBytes));
    frames.end();
    return undefined;
  } catch (error) {
    return (error as { reason: string }).reason;
  }
}

test.each([1, 2, 3, 5, 16, 1_000])("whole frames are accepted in pieces of %i bytes", (pieceBytes) => {
  expect(check(Buffer.concat([frameOf(16), frameOf(64), frameOf(17)]), pieceBytes)).toBeUndefined();
});

test.each([
  [frameOf(15), "malformed"],
  [frameOf(0), "malformed"],
  [frameOf(8 * 1024 * 1024 + 1), "malformed"],
  [Buffer.from("data: {}\n\n"), "malformed"],
  [frameOf(64).subarray(0, 63), "truncated"],
  [Buffer.concat([frameOf(16), Buffer.from([0, 0])]), "truncated"],
])("the body %# fails as %s", (bytes, reason) => {
  for (const pieceBytes of [1, 7, 100]) expect(check(bytes, pieceBytes)).toBe(reason);
});
