import { expect, test } from "vitest";
import { findContinuedQuestion } from "./follow-up.ts";

const BEFORE = "Is the plate safe in a dishwasher?";

test.each([
  ...["And on Sunday?", "and for the mug?", "What about cups?", "buy bread then?", "But with milk?"],
  ...["How much is it?", "How much does it cost?", "When does it meet?", "Are they washable?", "What about that one?"],
  ...["Is that free?", "Do you sell bread too?"],
  ...["Und am Sonntag?", "und der Grundkurs", "Was kostet das?", "Wie lange dauert er?", "Ist sie spülmaschinenfest?"],
  ...["Et le dimanche ?", "Combien ça coûte ?", "Est-il lavable ?", "Et pour les enfants ?"],
  ...["¿Y los domingos?", "¿Cuánto cuesta?", "E la domenica?", "Quanto costa?", "E ao domingo?", "Quanto custa?"],
  ...["En op zondag?", "Hoeveel kost dat?", "A w niedzielę?", "Ile to kosztuje?"],
  ...["وماذا عن يوم الأحد؟", "ובשבת?", "では日曜日は？", "那星期天呢？"],
])("%j continues the question before it", (message) => {
  expect(findContinuedQuestion(message, [BEFORE])).toBe(BEFORE);
});

test.each([
  ...["When are you open?", "How long does it take to ship to France?", "Is it possible to pay in cash?"],
  ...["Is it allowed to smoke?", "Can I bring my dog?", "I want to cancel my order", "E-mail address?"],
  ...["Haben Sie am Sonntag geöffnet?", "Was kostet das Frühstück?", "Gibt es das Buch noch?", "Sind Sie erreichbar?"],
  ...[
    "Y a-t-il un parking ?",
    "En quelle langue est le cours ?",
    "La piscine est-elle ouverte ?",
    "Est-il possible de payer ?",
  ],
  ...["¿A qué hora abren?", "A che ora aprite?", "Kiedy macie otwarte?", "وقت العمل؟", "営業時間は？"],
  "Hello, I have a question about a thing that I bought, and it does not work with the other one that I have",
])("%j stands alone", (message) => {
  expect(findContinuedQuestion(message, [BEFORE])).toBe("");
});

test("skips small talk, and returns the questions back to the first that stands alone", () => {
  const earlier = ["thanks!", "and on Saturday?", "When are you open on Friday?", "What is the price of a cup?"];
  expect(findContinuedQuestion("and on Sunday?", earlier)).toBe("When are you open on Friday? and on Saturday?");
  expect(findContinuedQuestion("and on Sunday?", ["thanks!"])).toBe("");
});
