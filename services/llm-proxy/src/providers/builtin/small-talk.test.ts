import { create } from "@bufbuild/protobuf";
import { PassageSchema } from "@parley/rpc/llm";
import { describe, expect, test } from "vitest";
import { decline, isDecline, replyToSmallTalk } from "./small-talk.ts";
import { SMALL_TALK_TEXTS } from "./small-talk-texts.ts";

/** A question that no document answers, in each of the widget's languages. */
const QUESTIONS = {
  en: "Who is the pope?",
  de: "Wer ist der Papst?",
  fr: "Qui est le pape ?",
  es: "¿Quién es el papa?",
  it: "Chi è il papa?",
  pt: "Quem é o papa?",
  nl: "Wie is de paus?",
  pl: "Kto to jest papież?",
  ar: "من هو البابا؟",
  he: "מי האפיפיור?",
  ja: "教皇は誰ですか",
  zh: "教皇是谁？",
  "zh-hant": "教皇是誰？這個問題誰會",
};

test.each(Object.entries(QUESTIONS))("declines a question in the visitor's language: %s", (language, question) => {
  const reply = decline(question, []);
  expect(reply).toBe(SMALL_TALK_TEXTS[language]?.decline);
  expect(isDecline(reply)).toBe(true);
});

test("a decline names headings of the passages, and a message without known words gets the passages' language", () => {
  const passages = ["Preise", "Shop > Lieferung", "Wie lange dauert das?", "Preise"].map((heading, index) =>
    create(PassageSchema, {
      id: BigInt(index),
      source: "a.md",
      heading,
      text: "Das ist nicht der Preis für die Ware.",
    }),
  );
  const reply = decline("Xylophon", passages);
  expect(reply).toBe(`${SMALL_TALK_TEXTS.de?.decline} Sie können mich zum Beispiel fragen nach: Preise, Lieferung.`);
  expect(isDecline(reply)).toBe(true);
});

describe("replyToSmallTalk", () => {
  test.each([
    ["en", "greeting", ["Hi", "hello!", "Good morning", "hey there"]],
    ["en", "thanks", ["thanks", "Thank you very much!", "ok thanks", "Thanks for your help 👍"]],
    ["en", "goodbye", ["bye", "Thanks, bye!"]],
    ["en", "acknowledgement", ["ok", "Okay, great."]],
    ["en", "human", ["Are you a human?", "are you a human or a bot", "Hello, who are you?"]],
    ["de", "greeting", ["Hallo", "Guten Tag!"]],
    ["de", "thanks", ["Vielen Dank"]],
    ["de", "human", ["Bist du ein Mensch?"]],
    ["fr", "thanks", ["merci", "Merci beaucoup !"]],
    ["es", "greeting", ["¡Hola!", "Buenos días"]],
    ["it", "goodbye", ["Arrivederci"]],
    ["pt", "thanks", ["Muito obrigada"]],
    ["nl", "thanks", ["Dank u wel"]],
    ["pl", "greeting", ["Dzień dobry"]],
    ["ar", "thanks", ["شكرا"]],
    ["he", "greeting", ["שלום"]],
    ["ja", "greeting", ["こんにちは！"]],
    ["zh", "greeting", ["你好"]],
    ["zh-hant", "thanks", ["謝謝"]],
  ] as const)("replies in %s to a message that is only a %s", (language, kind, messages) => {
    for (const message of messages) expect(replyToSmallTalk(message), message).toBe(SMALL_TALK_TEXTS[language]?.[kind]);
  });

  test.each(["Hi, when is the shop open?", "hihi", "no refunds", "ok computer", "", "???", "👍"])(
    "leaves %j to the passages",
    (message) => {
      expect(replyToSmallTalk(message)).toBeUndefined();
    },
  );
});

test("a reply to small talk is not a decline", () => {
  for (const texts of Object.values(SMALL_TALK_TEXTS))
    for (const reply of [texts.greeting, texts.thanks, texts.goodbye, texts.acknowledgement, texts.human])
      expect(isDecline(reply), reply).toBe(false);
});
