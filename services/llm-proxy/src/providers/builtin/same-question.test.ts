import { create } from "@bufbuild/protobuf";
import { PassageSchema } from "@parley/rpc/llm";
import { expect, test } from "vitest";
import { findSameQuestion } from "./same-question.ts";

const PASSAGES = [
  { heading: "Kiln", text: "The kiln is free on Mondays. E-mail kiln@pots.example." },
  {
    heading: "FAQ > Will I get an e-mail when the kiln is free?",
    text: "Yes, on the same day. Check your spam folder.",
  },
  {
    heading: "FAQ",
    text: "Do you fire other people's work? Only stoneware. It costs £4.\nHow do I pay for a firing?\nBy card.",
  },
  { heading: "When the clay is too dry", text: "Soak it overnight." },
  { heading: "What is included?", text: "Clay and glaze." },
  { heading: "What is not included?", text: "The firing." },
  { heading: "What if I cancel before the course?", text: "You pay half." },
  { heading: "How long is the walk from the station to the pottery?", text: "Ten minutes, downhill." },
  { heading: "About us", text: "Really? Yes, by hand." },
].map((passage) => create(PassageSchema, { source: "pots.md", ...passage }));

/** Returns the first sentence of the answer. */
function answer(message: string): string | undefined {
  const found = findSameQuestion(message, PASSAGES);
  return found?.sentences[found.index]?.text;
}

test.each([
  ["will i get an email when the kiln is free", "Yes, on the same day."],
  ["do you fire the other people's work", "Only stoneware."],
  ["How can I pay for a firing?", "By card."],
  ["when the clay is too dry", "Soak it overnight."],
  ["whats included", "Clay and glaze."],
  ["what's not included", "The firing."],
  ["how long is the walk from station to pottery", "Ten minutes, downhill."],
])("finds the answer to %j", (message, expected) => {
  expect(answer(message)).toBe(expected);
});

test.each([
  ...["When do I pay for a firing?", "How do I pay for a kiln?", "How do I pay?", "kiln", "", "???"],
  ...["What if I cancel after the course?", "Really?", "How often can I pay for a firing?"],
  "How long is the walk from the pottery to the station?",
])("finds no answer to %j, which asks something else", (message) => {
  expect(answer(message)).toBeUndefined();
});

test("a section that is too long for one passage answers with its beginning", () => {
  const [later, first] = ["It also says …", "Bring a towel."].map((text, index) =>
    create(PassageSchema, { id: BigInt(2 - index), heading: "What do I bring?", text }),
  );
  const passages = [later, first].filter((each) => each !== undefined);
  expect(findSameQuestion("What do I bring?", passages)?.passage).toBe(first);
});
