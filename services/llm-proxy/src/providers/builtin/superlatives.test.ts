import { expect, test } from "vitest";
import { findSuperlative } from "./superlatives.ts";

test.each([
  ["which is the cheapest ticket?", false, "Ticket: Adult; Price: £9.50.", [9.5]],
  ["quelle est la formule la moins chère ?", false, "Mois: 1.190 €.", [1190]],
  ["was ist das teuerste", true, "Fodera; 95,00 €.", [95]],
  ["cuál dura más, la más larga", true, "Duración: 90 minutos.", [90]],
  ["what is the shortest course?", false, "Course: 2 hours; Price: £40.", [120]],
  ["what is the longest tour?", true, "Tours take between 2 and 3 hours, with 4 messages.", [180]],
  ["which screen is the biggest?", true, "Screen 1 has 140 seats, at 7 pm for £5.", [1, 140]],
  ["was ist die kleinste kiste", false, "Klein für 14 €, groß für 29 €.", [14, 29]],
])("%j compares the numbers of a sentence", (message, isLargest, sentence, numbers) => {
  const superlative = findSuperlative(message);
  expect(superlative?.isLargest).toBe(isLargest);
  expect(superlative?.read(sentence)).toEqual(numbers);
});

test("a question without a superlative compares nothing", () => {
  expect(findSuperlative("How much is a ticket?")).toBeUndefined();
});
