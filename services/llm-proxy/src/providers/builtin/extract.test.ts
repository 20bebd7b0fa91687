import { create } from "@bufbuild/protobuf";
import { type Passage, PassageSchema } from "@parley/rpc/llm";
import { cpuMsOf } from "@parley/test-support";
import { describe, expect, test } from "vitest";
import { extractAnswer } from "./extract.ts";

const passage = (source: string, heading: string, text: string): Passage =>
  create(PassageSchema, { source, heading, text });

const SHOP = [
  passage(
    "returns.md",
    "Orders > Refunds",
    "You can return an item within 30 days of delivery. We pay the money back to the card you used.\n\nPostage is not refunded.",
  ),
  passage(
    "delivery.md",
    "Orders > Delivery",
    "We deliver within three working days.\nOrders over 50 euros are delivered free of charge. To islands it takes a week.",
  ),
  passage(
    "plans.md",
    "Plans",
    "There are three plans:\n- Free: 100 messages a month\n- Pro: 5,000 messages\n- Scale: 25,000 messages",
  ),
  passage("opening-hours.txt", "", "Our shop in Lisbon is open from 9 to 18, Monday to Saturday."),
];

const UNKNOWN = /^Sorry, I don't know\./;

describe("extractAnswer", () => {
  test.each([
    [
      "How long do I have to return something?",
      /^From returns\.md › Orders › Refunds: “You can return an item within 30 days/,
    ],
    ["do you refund postage", /“.*Postage is not refunded\.”/],
    ["How fast is delivery to islands?", /^From delivery\.md › Orders › Delivery: “.*To islands it takes a week\.”/],
    ["when is the shop open?", /^From opening-hours\.txt: “Our shop in Lisbon is open from 9 to 18/],
    ["Which plans are there?", /^From plans\.md › Plans: “There are three plans: Free: 100 messages a month/],
    ["how many messages on the Scale plan", /Scale: 25,000 messages/],
    ["delivry to an island", /^From delivery\.md/],
    ["REFUNDS!!", /^From returns\.md/],
  ])("answers %j with the right sentence and its source", (message, expected) => {
    expect(extractAnswer(message, SHOP)).toMatch(expected);
  });

  test.each([
    "What is the capital of France?",
    "Who won the world cup in 1998?",
    "Can you write me a poem about the sea?",
    "Does it run on Windows 95?",
    "what is your CEO's salary",
    "???",
    "is it the",
    "",
  ])("does not know the answer to %j", (message) => {
    expect(extractAnswer(message, SHOP)).toMatch(UNKNOWN);
  });

  test("without passages, replies that it does not know the answer", () => {
    expect(extractAnswer("How long do I have to return something?", [])).toMatch(UNKNOWN);
  });

  test.each(["Hi", "hello!", "Good morning", "hey there", "Hallo", "¡Hola!"])(
    "replies to the greeting %s",
    (message) => {
      expect(extractAnswer(message, SHOP)).toMatch(/^Hello! Ask me a question/);
    },
  );

  test.each(["thanks", "Thank you very much!", "ok thanks", "Vielen Dank", "merci"])(
    "replies to the thanks %s",
    (message) => {
      expect(extractAnswer(message, SHOP)).toMatch(/^You're welcome!/);
    },
  );

  test("answers a question after a greeting", () => {
    expect(extractAnswer("Hi, when is the shop open?", SHOP)).toMatch(/^From opening-hours\.txt/);
  });

  test("answers a German question from German passages only if they contain the answer", () => {
    const german = [
      passage(
        "versand.md",
        "Versand",
        "Wir liefern innerhalb von drei Tagen. Die Lieferung auf Inseln dauert eine Woche.",
      ),
      passage("rueckgabe.md", "Rückgabe", "Sie können die Ware innerhalb von 30 Tagen zurückgeben."),
    ];
    expect(extractAnswer("Wie lange dauern Lieferungen auf eine Insel?", german)).toMatch(
      /^From versand\.md › Versand: “.*Inseln dauert eine Woche/,
    );
    expect(extractAnswer("Wer ist der Bürgermeister von Wien?", german)).toMatch(UNKNOWN);
  });

  test("quotes a second source only if its score is near the best score", () => {
    const passages = [
      passage(
        "a.md",
        "",
        "Invoices are sent by mail on the first of the month, to the address of the account's owner.",
      ),
      passage(
        "b.md",
        "",
        "You find all invoices of the last ten years in your account, under Billing, as documents to print.",
      ),
      passage(
        "c.md",
        "",
        "The weather in Lisbon is fine all year, and the account of it in the papers is always the same.",
      ),
    ];
    const quotes = extractAnswer("Where are my invoices?", passages).split("\n\n");
    expect(quotes.map((quote) => quote.slice(5, 9))).toEqual(["a.md", "b.md"]);
  });

  test("is deterministic", () => {
    const answers = Array.from({ length: 5 }, () => extractAnswer("How are orders delivered and refunded?", SHOP));
    expect(new Set(answers).size).toBe(1);
  });

  test("cuts a long quote to at most 700 characters and an ellipsis", () => {
    const long = [passage("long.md", "", `Refunds are ${"very ".repeat(1_000)}slow.`)];
    const [, quote = ""] = /^From long\.md: “(.*)”$/.exec(extractAnswer("refunds", long)) ?? [];
    expect(quote).toMatch(/^Refunds are (very )+…$/);
    expect(quote.length).toBeGreaterThan(690);
    expect(quote.length).toBeLessThanOrEqual(702);
  });

  test("the longest message with many long passages takes less than half a second of CPU time", () => {
    const words = (seed: number, count: number) =>
      Array.from({ length: count }, (_, index) => `w${(seed * 7_919 + index * 104_729) % 99_991}x`).join(" ");
    const many = Array.from({ length: 20 }, (_, index) =>
      passage(`${index}.md`, "", `${words(index, 60)}. `.repeat(10)),
    );
    const message = words(99, 500);
    expect(cpuMsOf(() => extractAnswer(message, many))).toBeLessThan(500);
  });
});

test("extractAnswer prefers the sentence that begins with the message's subject", () => {
  const passages = [
    {
      id: 1n,
      source: "notes.md",
      heading: "",
      text: "The price list names Zephyr twice. Ask about Zephyr at the desk.",
    },
    {
      id: 2n,
      source: "readme.md",
      heading: "Zephyr",
      text: "Zephyr is a wind meter for small boats. It needs no battery.",
    },
  ].map((passage) => create(PassageSchema, passage));
  expect(extractAnswer("What is Zephyr?", passages)).toMatch(
    /^From readme\.md › Zephyr: “Zephyr is a wind meter for small boats\./,
  );
});

test("a very long sentence is cut between words, and a very long word between characters", () => {
  const quoteOf = (text: string) =>
    extractAnswer("refunds", [passage("long.md", "", text)]).slice("From long.md: “".length, -" …”".length);
  expect(quoteOf(`Refunds ${"word ".repeat(200)}`)).toMatch(/^Refunds( word)+$/);
  // Each emoji is two UTF-16 units. The first emoji starts at an even position in one text, and at an odd position in the other.
  for (const start of ["Refunds ", "Refunds: "]) {
    const quote = quoteOf(start + "😀".repeat(500));
    expect(quote.isWellFormed()).toBe(true);
    expect(quote.length).toBeGreaterThan(690);
  }
});
