import { expect, test } from "vitest";
import { detectLanguage } from "./language.ts";
import { findNames, listAskedConcepts } from "./lexicon.ts";

const ENGLISH = detectLanguage(["the", "and"]);
const FRENCH = detectLanguage(["le", "les", "et"]);
const ITALIAN = detectLanguage(["il", "gli", "che"]);

const conceptsOf = (text: string, language = ENGLISH) => findNames(text, language).flatMap(({ concepts }) => concepts);
/** Whether a question with the one text is about a document with the other. */
const isAbout = (question: string, text: string, language = ENGLISH) =>
  listAskedConcepts(question, language).some((each) => conceptsOf(text, language).includes(each));

test.each([
  ["are life jackets included", "Buoyancy aids are free."],
  ["where can I leave my car", "Parking costs £3."],
  ["do i get my money back", "We refund the ticket."],
  ["is it cheaper for students?", "They get 10% off."],
  ["how do i get hold of you", "Call 0113 496 0182."],
])("%j is about %j", (question, text) => {
  expect(isAbout(question, text)).toBe(true);
});

test("a question about dogs is about pets, and one about pets is about dogs, but one about cats is not about dogs", () => {
  expect(isAbout("dog", "pets")).toBe(true);
  expect(isAbout("pets", "dog")).toBe(true);
  expect(isAbout("cat", "dog")).toBe(false);
});

test("one stop word may be between the words of a name, but no other word", () => {
  expect(isAbout("leave the car", "parking")).toBe(true);
  expect(findNames("leave red car", ENGLISH).filter(({ stems }) => stems.length > 1)).toEqual([]);
});

test("other words that have the same short stem as a name are no names", () => {
  expect(isAbout("visa", "Le visite guidate", ITALIAN)).toBe(false);
  expect(isAbout("zip", "Une fermeture éclair", FRENCH)).toBe(true);
});
