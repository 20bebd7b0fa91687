import { cpuMsOf } from "@parley/test-support";
import { expect, test } from "vitest";
import { joinSentences, splitSentences } from "./sentences.ts";

test("a sentence may continue on the next line of its paragraph, but not in the next paragraph, list item or table row", () => {
  const text = [
    "# Refunds",
    "You can return an item within",
    "30 days. Write to us first!",
    "",
    "You need:",
    "- the receipt",
    "- the item, e.g. in its box",
    "1. Pack it.",
    "> Mind the date",
    "| plan | price |",
    "|---|:-:|",
    "| **Pro** | 20 |",
    "```sh",
    "```",
    "***",
  ].join("\n");
  expect(splitSentences(text)).toEqual([
    "Refunds",
    "You can return an item within 30 days.",
    "Write to us first!",
    "You need:",
    "the receipt",
    "the item, e.g. in its box",
    "Pack it.",
    "Mind the date",
    "plan – price",
    "Pro – 20",
  ]);
});

test("splitSentences recognises the end of a sentence in other scripts", () => {
  expect(splitSentences("配送は三日です。返品は三十日以内です。")).toEqual([
    "配送は三日です。",
    "返品は三十日以内です。",
  ]);
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

test("splitSentences leaves out code, even without a closing fence", () => {
  expect(splitSentences("Install it.\n```sh\nnpm install it\n```\nThen start.")).toEqual([
    "Install it.",
    "Then start.",
  ]);
  expect(splitSentences("Install it.\n~~~\nnpm install it\n")).toEqual(["Install it."]);
});

test("splitSentences leaves out a code block whose lines were joined, and keeps inline code and the text after the block", () => {
  expect(splitSentences("``` npm install it ```\nThen start.")).toEqual(["Then start."]);
  expect(splitSentences("```sh npm install it ``` Then start.\nStop it.")).toEqual(["Then start.", "Stop it."]);
  expect(splitSentences("``` npm install it\nThen start.")).toEqual(["Then start."]);
  expect(splitSentences("```npm install``` installs it.\nThen start.")).toEqual([
    "```npm install``` installs it.",
    "Then start.",
  ]);
});

test("splitSentences keeps the text after an empty code block", () => {
  expect(splitSentences("Install it.\n```\n```\nThen start.")).toEqual(["Install it.", "Then start."]);
  expect(splitSentences("``` ``` Then start.")).toEqual(["Then start."]);
});

test("splitSentences leaves out code that contains shorter fences", () => {
  expect(splitSentences("Write it.\n````\n```sh\nnpm install it\n```\n````\nThen start.")).toEqual([
    "Write it.",
    "Then start.",
  ]);
});
