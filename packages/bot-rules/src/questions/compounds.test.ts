import { expect, test } from "vitest";
import { splitCompound } from "./compounds.ts";

const KNOWN = new Set(["student", "studenten", "rabatt", "umzug", "karton", "karte"]);
const split = (word: string) => splitCompound(word, (part) => KNOWN.has(part));

test("splits a compound of two known words, also with letters between them", () => {
  expect(split("studentenrabatt")).toEqual(["studenten", "rabatt"]);
  expect(split("umzugskarton")).toEqual(["umzug", "karton"]);
});

test("does not split a word with an unknown part, nor a short word", () => {
  expect(split("seniorenrabatt")).toEqual([]);
  expect(split("rabatt")).toEqual([]);
});
