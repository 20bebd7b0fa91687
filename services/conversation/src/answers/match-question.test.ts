import { expect, test } from "vitest";
import { findAnswer, findNearest, prepareQuestions } from "./match-question.ts";

const asked = (message: string, ...questions: string[]) =>
  findAnswer(message, prepareQuestions([{ id: 1, questions }]))?.question;

test.each([
  ["where is my order", "Where is my order?"],
  ["WHERE IS MY ORDER???", "Where is my order?"],
  ["Where is the order?", "Where is order?"],
  ["Hi, where is my order?", "Where is my order?"],
  ["Ou est mon recu", "Où est mon reçu ?"],
  ["Do you ship to Spain?", "ship to spain, do you"],
  ["送料はいくらですか", "送料はいくらですか？"],
  ["배송은 얼마나 걸리나요", "배송은 얼마나 걸리나요?"],
  ["متى يصل طلبي", "متى يصل طلبي؟"],
])("%s asks %s", (message, question) => {
  expect(asked(message, question)).toBe(question);
});

test.each([
  ["Do you sell skirts?", "Do you sell shirts?"],
  ["Do you deliver on Monday?", "Do you deliver on Sunday?"],
  ["Do you deliver on 24 December?", "Do you deliver on 25 December?"],
  ["Can I return the shirts that I bought online last week?", "Can I return the shoes that I bought online last week?"],
  ["Do I pay tax in the UK?", "Do I pay tax in the US?"],
  ["Where is my order? And can I change its address?", "Where is my order?"],
  ["返品は無料ですか", "配送は無料ですか"],
  ["...", "Where is my order?"],
  ["Где мой заказ", "Где мой возврат"],
])("%s does not ask %s", (message, question) => {
  expect(asked(message, question)).toBeUndefined();
});

test("a match with the same words comes before one with other short words, and the first answer before a later one", () => {
  const questions = prepareQuestions([
    { id: 1, questions: ["Where is order"] },
    { id: 2, questions: ["Track", "Where is my order?"] },
    { id: 3, questions: ["where is my order"] },
  ]);
  expect(findAnswer("Where is my order", questions)).toMatchObject({ answerId: 2, similarity: 1 });
  expect(findAnswer("Where is order?", questions)).toMatchObject({ answerId: 1, similarity: 1 });
});

test("the nearest question is known also if the message does not ask it", () => {
  const questions = prepareQuestions([{ id: 7, questions: ["Do you sell shirts?"] }]);
  const nearest = findNearest("Do you sell skirts?", questions);
  expect(nearest).toMatchObject({ answerId: 7, isMatch: false });
  expect(nearest?.similarity).toBeCloseTo(18 / 30);
  expect(findNearest("Banana", questions)).toBeUndefined();
});
