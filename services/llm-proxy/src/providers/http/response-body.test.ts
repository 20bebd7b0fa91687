import { Readable } from "node:stream";
import { expect, test } from "vitest";
import { readText } from "./response-body.ts";

test("readText returns the whole text of a body within the limit", async () => {
  expect(await readText(Readable.from([Buffer.from("01234"), Buffer.from("56789")]), 100)).toBe("0123456789");
  expect(await readText(Readable.from([]), 100)).toBe("");
});

test("readText returns the beginning of a longer body, and destroys the body", async () => {
  const body = new Readable({ read: () => void body.push("0123456789") });
  expect(await readText(body, 14)).toBe("01234567890123");
  expect(body.destroyed).toBe(true);
});
