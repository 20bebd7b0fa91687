import { cpuMsOf } from "@parley/test-support";
import { expect, test } from "vitest";
import { joinSentences, splitSentences } from "./sentences.ts";

const textsOf = (text: string) => splitSentences(text).map((sentence) => sentence.text);
const codeOf = (text: string) => splitSentences(text).map(({ code }) => code);

test("each line is a paragraph, list item or table row", () => {
  const text = [
    "# Refunds",
    "You can return an item within 30 days. Write to us first!",
    "",
    "You need:",
    "- the receipt",
    "- the item, e.g. in its box",
    "1. Pack it.",
    "> Mind the date",
    "```sh",
    "```",
    "***",
  ].join("\n");
  expect(textsOf(text)).toEqual([
    "Refunds",
    "You can return an item within 30 days.",
    "Write to us first!",
    "You need:",
    "the receipt",
    "the item, e.g. in its box",
    "Pack it.",
    "Mind the date",
  ]);
});

test("a table row is a sentence with the labels of its columns", () => {
  const text = "| plan | price |\n|---|:-:|\n| **Pro** | 20 |\n| Free | |\nThat is all.";
  expect(textsOf(text)).toEqual(["plan: Pro; price: 20.", "plan: Free.", "That is all."]);
  expect(textsOf("| without | a head |")).toEqual(["without; a head."]);
});

test("list items follow a colon, with or without markers", () => {
  const itemsOf = (text: string) =>
    splitSentences(text)
      .filter(({ isListItem }) => isListItem)
      .map((sentence) => sentence.text);
  expect(itemsOf("You need:\n- the receipt\n- the item\n\nSend both. Wait.")).toEqual(["the receipt", "the item"]);
  expect(itemsOf("You need:\nthe receipt\nthe item\nSend both. Wait.")).toEqual(["the receipt", "the item"]);
});

test("a sentence knows the question that its paragraph answers", () => {
  const [question, ...answers] = splitSentences("Can I return it?\nYes. Within 30 days.");
  expect(question).toMatchObject({ isQuestion: true, startsParagraph: true, question: "" });
  expect(answers).toMatchObject([
    { text: "Yes.", startsParagraph: true, question: "Can I return it?" },
    { text: "Within 30 days.", startsParagraph: false, question: "Can I return it?" },
  ]);
});

test("a question at the beginning of a paragraph is the question of its other sentences, without the labels of both", () => {
  expect(splitSentences("Is there a lift? Yes, to all floors. It is narrow.\nAsk us.")).toMatchObject([
    { text: "Is there a lift?", question: "", isAnswer: false },
    { text: "Yes, to all floors.", question: "Is there a lift?", isAnswer: true },
    { text: "It is narrow.", question: "Is there a lift?", isAnswer: false },
    { text: "Ask us.", question: "", isAnswer: false },
  ]);
  expect(splitSentences("Frage: Gibt es Strom?\nAntwort: Ja, an jedem Platz.")).toMatchObject([
    { text: "Gibt es Strom?" },
    { text: "Ja, an jedem Platz.", question: "Gibt es Strom?", isAnswer: true },
  ]);
  expect(splitSentences("Q: Is it safe? A: It is. Q: How much? A: 12 €.")).toMatchObject([
    { text: "Is it safe?" },
    { text: "It is.", question: "Is it safe?", isAnswer: true },
    { text: "How much?" },
    { text: "12 €.", question: "How much?", isAnswer: true },
  ]);
  expect(textsOf("D: 12 €\nQ: Is it safe? A: It is.")).toEqual(["D: 12 €", "Is it safe?", "It is."]);
});

test("splitSentences recognises the end of a sentence in other scripts", () => {
  expect(textsOf("配送は三日です。返品は三十日以内です。")).toEqual(["配送は三日です。", "返品は三十日以内です。"]);
});

test("a blank text has no sentences", () => {
  expect(splitSentences(" \n\n\t")).toEqual([]);
});

test("joinSentences adds a semicolon to a sentence without final punctuation, except to the last sentence", () => {
  expect(joinSentences(["There are two:", "Free", "Pro", "That is all.", "Really"])).toBe(
    "There are two: Free; Pro; That is all. Really",
  );
  expect(joinSentences(["配送は三日です。", "以上"])).toBe("配送は三日です。 以上");
});

test("splitSentences splits 20,000 repeated markers in less than a second of CPU time", () => {
  for (const unit of [" ", "\n", "\n ", "|", "#", "# ", "\n#", "- ", "\n- ", "`", "=", "1.", "\n|"]) {
    const text = `${unit.repeat(20_000)}x`;
    expect(
      cpuMsOf(() => splitSentences(text)),
      JSON.stringify(unit),
    ).toBeLessThan(1_000);
  }
});

test("code belongs to the sentence before it, even without a closing fence", () => {
  const text = "Install it.\n```sh\nnpm install it\nnpm test\n```\nThen start.";
  expect(textsOf(text)).toEqual(["Install it.", "Then start."]);
  expect(codeOf(text)).toEqual(["npm install it\nnpm test", ""]);
  expect(splitSentences("Install it.\n~~~\nnpm install it\n")).toMatchObject([
    { text: "Install it.", code: "npm install it" },
  ]);
});

test("code whose lines were joined is code, and inline code is text", () => {
  expect(textsOf("``` npm install it ```\nThen start.")).toEqual(["Then start."]);
  expect(splitSentences("Do this.\n```sh npm install it ``` Then start.\nStop it.")).toMatchObject([
    { text: "Do this.", code: "npm install it" },
    { text: "Then start." },
    { text: "Stop it." },
  ]);
  expect(textsOf("``` npm install it\nThen start.")).toEqual(["Then start."]);
  expect(textsOf("```npm install``` installs it.\nThen start.")).toEqual([
    "```npm install``` installs it.",
    "Then start.",
  ]);
});

test("splitSentences keeps the text after an empty code block", () => {
  expect(textsOf("Install it.\n```\n```\nThen start.")).toEqual(["Install it.", "Then start."]);
  expect(textsOf("``` ``` Then start.")).toEqual(["Then start."]);
});

test("code may contain shorter fences", () => {
  const text = "Write it.\n````\n```sh\nnpm install it\n```\n````\nThen start.";
  expect(textsOf(text)).toEqual(["Write it.", "Then start."]);
  expect(codeOf(text)).toEqual(["```sh\nnpm install it\n```", ""]);
});
