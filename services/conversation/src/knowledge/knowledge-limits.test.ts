import { expect, test } from "vitest";
import { requireRoom } from "./knowledge-limits.ts";

const limits = { maxDocuments: 3, maxCharacters: 100 };
const usage = (documents: number, characters: number, replaced?: number) => ({
  others: { documents, characters },
  replaced,
});

test.each([
  ["a new document below both limits", usage(2, 60), 40],
  ["a replacement that fits", usage(2, 60, 10), 40],
  ["a replacement in a workspace that has the most documents", usage(3, 60, 10), 40],
  ["a replacement that is as long, above a lowered limit", usage(9, 900, 50), 50],
  ["a replacement that is shorter, above a lowered limit", usage(9, 900, 50), 49],
])("accepts %s", (_, current, characters) => {
  expect(() => requireRoom(current, characters, limits)).not.toThrow();
});

test.each([
  ["a new document above the documents", usage(3, 0), 1, "permits 3 documents, and it has 3"],
  [
    "a new document above the characters",
    usage(1, 61),
    40,
    "permits 100 characters of text. It has 61, and this document has 40",
  ],
  ["a longer replacement above the characters", usage(1, 61, 30), 40, "It has 91, and this document has 40"],
  ["a longer replacement above a lowered limit", usage(9, 900, 50), 51, "It has 950, and this document has 51"],
])("refuses %s, and names the limit and the usage", (_, current, characters, message) => {
  expect(() => requireRoom(current, characters, limits)).toThrow(
    expect.objectContaining({ code: "knowledge_limit_reached", message: expect.stringContaining(message) }),
  );
});

test("refuses everything at a limit of 0", () => {
  expect(() => requireRoom(usage(0, 0), 1, { ...limits, maxDocuments: 0 })).toThrow("0 documents");
  expect(() => requireRoom(usage(0, 0), 1, { ...limits, maxCharacters: 0 })).toThrow("0 characters");
});
