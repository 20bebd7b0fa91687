import { expect, test } from "vitest";
import { isQuestion } from "./is-question.ts";

test.each([
  ...[
    "Hello!",
    "Hallo zusammen",
    "thank you very much",
    "Merci beaucoup !",
    "ok",
    "Are you a human?",
    "谢谢",
    "こんにちは",
  ],
  ...[
    "asdf",
    "asdfasdf",
    "qwerty",
    "qwertz",
    "hjkl",
    "sdfgh jklkjh",
    "xxxxxx",
    "hahaha",
    "lalala",
    "???",
    "...",
    "👍",
    "12345",
  ],
])("%j asks nothing", (message) => {
  expect(isQuestion(message)).toBe(false);
});

test.each([
  ...["Parking?", "Hello, when do you open?", "wifi", "VAT", "DHL", "FAQ?", "Do you sell tea?", "rhythm", "xyz"],
  ...[
    "Wo parke ich?",
    "营业时间",
    "料金",
    "Bananas",
    "property",
    "Mississippi",
    "Cocoa",
    "strč prst skrz krk",
    "quantity",
  ],
  "thanks, and where is my parcel?",
  "hahaha but where is my order",
])("%j may ask something", (message) => {
  expect(isQuestion(message)).toBe(true);
});
