import { expect, test } from "vitest";
import { joinSentences, sentencesOf } from "./sentences.ts";

test("wrapped lines are one sentence, paragraphs and list items are sentences of their own", () => {
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
  expect(sentencesOf(text)).toEqual([
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

test("sentences end in other scripts too", () => {
  expect(sentencesOf("配送は三日です。返品は三十日以内です。")).toEqual(["配送は三日です。", "返品は三十日以内です。"]);
});

test("a text of blanks has none", () => {
  expect(sentencesOf(" \n\n\t")).toEqual([]);
});

test("joined, each sentence ends before the next begins", () => {
  expect(joinSentences(["There are two:", "Free", "Pro", "That is all.", "Really"])).toBe(
    "There are two: Free; Pro; That is all. Really",
  );
  expect(joinSentences(["配送は三日です。", "以上"])).toBe("配送は三日です。 以上");
});

test("a text made of nothing but markers takes no time worth noting", () => {
  for (const unit of [" ", "\n", "\n ", "|", "#", "# ", "\n#", "- ", "\n- ", "`", "=", "1.", "\n|"]) {
    const started = performance.now();
    sentencesOf(`${unit.repeat(20_000)}x`);
    expect(performance.now() - started).toBeLessThan(1_000);
  }
});

test("code is quoted neither whole nor in part, also where its fence was cut off", () => {
  expect(sentencesOf("Install it.\n```sh\nnpm install it\n```\nThen start.")).toEqual(["Install it.", "Then start."]);
  expect(sentencesOf("Install it.\n~~~\nnpm install it\n")).toEqual(["Install it."]);
});
