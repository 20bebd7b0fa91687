import { create } from "@bufbuild/protobuf";
import { type Passage, PassageSchema, type QueryTerm, QueryTermSchema } from "@parley/rpc/llm";
import { cpuMsOf } from "@parley/test-support";
import { describe, expect, test } from "vitest";
import * as extract from "./extract.ts";
import { isDecline } from "./small-talk.ts";

const passage = (source: string, heading: string, text: string): Passage =>
  create(PassageSchema, { source, heading, text });

/** A Monday. */
const NOW = new Date("2026-11-30T12:00:00Z");

/** Returns the text of the reply. Checks that a reply with a decline's text is marked as declined, and no other. */
function extractAnswer(
  message: string,
  passages: Passage[],
  { terms = [], earlier = [], timeZone = "UTC" }: { terms?: QueryTerm[]; earlier?: string[]; timeZone?: string } = {},
): string {
  const prompt = { passages, terms, timeZone, citesSources: false };
  const { text, isDeclined } = extract.extractAnswer(message, prompt, { earlier, now: NOW });
  expect(isDecline(text)).toBe(isDeclined);
  return text;
}

const SHOP = [
  passage(
    "returns.md",
    "Orders > Refunds",
    "You can return an item within 30 days of delivery. We pay the money back to the card you used.\nPostage is not refunded.",
  ),
  passage(
    "delivery.md",
    "Orders > Delivery",
    "We deliver within three working days. Orders over 50 euros are delivered free of charge. To islands it takes a week.",
  ),
  passage(
    "plans.md",
    "Plans",
    "There are three plans:\nFree: 100 messages a month\nPro: 5,000 messages\nScale: 25,000 messages",
  ),
  passage("opening-hours.txt", "", "Our shop in Lisbon is open from 9 to 18, Monday to Saturday."),
  passage(
    "prices.md",
    "Prices",
    "service: Full service; price: 119 €; takes: three days.\nservice: Flat tyre; price: 18 €; takes: one hour.",
  ),
  passage(
    "widget.md",
    "Guide > The widget",
    "To embed the widget, add this line. It loads the widget.\n```html\n<script src=widget.js></script>\n```\nThe widget is small.",
  ),
  passage("faq.md", "Questions", "Can I pay later?\nYes, within 14 days. Ask us first."),
];

describe("extractAnswer", () => {
  test("cites the passages by their numbers, and removes what reads like a citation from their texts", () => {
    const cite = (message: string, passages: Passage[]) =>
      extract.extractAnswer(
        message,
        { passages, terms: [], timeZone: "UTC", citesSources: true },
        { earlier: [], now: NOW },
      ).text;
    expect(cite("How long do I have to return something?", SHOP)).toBe(
      "You can return an item within 30 days of delivery. [1]",
    );
    expect(cite("How do I embed the widget?", SHOP)).toBe(
      "To embed the widget, add this line. [6]\n\n```\n<script src=widget.js></script>\n```",
    );
    const wiki = passage("bread.md", "", "Rye bread keeps for a week [2]. Store rye bread in `box[1]`.");
    expect(cite("How long does rye bread keep?", [wiki])).toBe("Rye bread keeps for a week. [1]");
    const long = passage("long.md", "", `Rye bread keeps for ${"many and many ".repeat(40)}days.`);
    const shortened = cite("How long does rye bread keep?", [long]);
    expect([shortened.length <= 400, shortened.endsWith(" … [1]")]).toEqual([true, true]);
    expect(cite("Do you repair cars?", SHOP)).not.toContain("[");
  });

  test.each([
    [
      "How long do I have to return something?",
      "You can return an item within 30 days of delivery.\n\n— returns.md › Refunds",
    ],
    ["do you refund postage", "Postage is not refunded.\n\n— returns.md › Refunds"],
    ["How fast is delivery to islands?", "To islands it takes a week.\n\n— delivery.md › Delivery"],
    ["when is the shop open?", "Our shop in Lisbon is open from 9 to 18, Monday to Saturday.\n\n— opening-hours.txt"],
    [
      "Which plans are there?",
      "There are three plans: Free: 100 messages a month; Pro: 5,000 messages; Scale: 25,000 messages\n\n— plans.md › Plans",
    ],
    ["how many messages on the Scale plan", "Scale: 25,000 messages\n\n— plans.md › Plans"],
    ["How much is a full service?", "service: Full service; price: 119 €; takes: three days.\n\n— prices.md › Prices"],
    ["how long does a flat tyre take", "service: Flat tyre; price: 18 €; takes: one hour.\n\n— prices.md › Prices"],
    ["pay later", "Yes, within 14 days.\n\n— faq.md › Questions"],
  ])("answers %j with the right sentence and its source", (message, expected) => {
    expect(extractAnswer(message, SHOP)).toBe(expected);
  });

  test("names the source once if its heading has the document's name", () => {
    const passages = [passage("Where can I park?", "Where can I park?", "Cars park behind the bakery.")];
    expect(extractAnswer("Where can I park?", passages)).toBe("Cars park behind the bakery.\n\n— Where can I park?");
  });

  test.each([
    "What is the capital of France?",
    "Who won the world cup in 1998?",
    "Can you write me a poem about the sea?",
    "Does it run on Windows 95?",
    "what is your CEO's salary",
    "Who owns the shop?",
    "How many people work in the shop?",
    "How old is the shop?",
    "???",
    "is it the",
    "",
  ])("declines %j", (message) => {
    expect(extractAnswer(message, SHOP)).toSatisfy(isDecline);
  });

  test("without passages, declines", () => {
    expect(extractAnswer("How long do I have to return something?", [])).toSatisfy(isDecline);
  });

  test("replies to small talk, and answers a question after a greeting", () => {
    expect(extractAnswer("Hello!", SHOP)).toMatch(/^Hello! Ask me a question/);
    expect(extractAnswer("Hi, when is the shop open?", SHOP)).toMatch(/^Our shop in Lisbon/);
  });

  test("a question that the documents have nearly word for word wins, with its whole answer", () => {
    const faq = [
      passage(
        "faq.md",
        "FAQ > Do I get an e-mail when my glasses are ready?",
        "Yes. We write on the same day. Call us too.",
      ),
      passage("contact.md", "Contact", "Write an e-mail to hello@glasses.example."),
      passage("about.md", "About us", "Are you a robot? No, this window is answered by Ada and Ben."),
    ];
    expect(extractAnswer("do i get an e-mail when my glasses are ready", faq)).toBe(
      "Yes. We write on the same day. Call us too.\n\n— faq.md › Do I get an e-mail when my glasses are ready?",
    );
    expect(extractAnswer("Are you a robot?", faq)).toMatch(/^No, this window is answered by Ada and Ben\./);
  });

  test("the answer to a question ends before the next question of its paragraph", () => {
    const faq = [passage("faq.txt", "", "Q: Is the kiln safe? A: It is. Q: How much is a firing? A: 12 €.")];
    expect(extractAnswer("Is the kiln safe?", faq)).toBe("It is.\n\n— faq.txt");
    expect(extractAnswer("How much is a firing?", faq)).toBe("12 €.\n\n— faq.txt");
  });

  test("a document's words do not reply to a greeting or to thanks", () => {
    const lesson = [
      passage("lesson.md", "Thank you very much", "To our sponsors."),
      passage("lesson.md", "Lesson 1", "How are you? I am fine."),
    ];
    expect(extractAnswer("thank you very much", lesson)).toMatch(/^You're welcome!/);
    expect(extractAnswer("how are you", lesson)).toMatch(/^Hello!/);
  });

  test("a question that continues another is not the same question about another thing", () => {
    const hire = [
      passage("bikes.md", "Bikes > How much does it cost?", "A bike costs 15 €."),
      passage("kayaks.md", "Kayaks", "Kayaks cost 20 € a day."),
    ];
    expect(extractAnswer("How much does it cost?", hire, { earlier: ["Do you rent kayaks?"] })).toBe(
      "Kayaks cost 20 € a day.\n\n— kayaks.md › Kayaks",
    );
  });

  test("a chain of sentences that refer to the ones before it does not displace the answer", () => {
    const steps = [`Open the glaze ${"and the lid ".repeat(20)}.`, `Then stir ${"and wait ".repeat(22)}.`];
    const glazing = [passage("glaze.md", "", [...steps, "Then dip the plate for ten seconds."].join(" "))];
    expect(extractAnswer("How long do I dip the plate?", glazing)).toContain("ten seconds");
  });

  test("adds the code that follows only if the question asks how", () => {
    expect(extractAnswer("How do I embed the widget?", SHOP)).toBe(
      "To embed the widget, add this line.\n\n```\n<script src=widget.js></script>\n```\n\n— widget.md › The widget",
    );
    expect(extractAnswer("Is the widget small?", SHOP)).toBe("The widget is small.\n\n— widget.md › The widget");
  });

  test("a sentence that begins with a pronoun takes the sentence before it along", () => {
    const dinner = [passage("house.md", "House", "Dinner is served at 19:30. It costs 28 € with wine.")];
    expect(extractAnswer("How much is dinner?", dinner)).toBe(
      "Dinner is served at 19:30. It costs 28 € with wine.\n\n— house.md › House",
    );
  });

  test("a continued question asks for the same kind of value as the question before it", () => {
    const prices = [
      passage("prices.md", "Prices", "A flat tyre is repaired on Mondays.\nservice: Flat tyre; price: 18 €."),
    ];
    const price = "service: Flat tyre; price: 18 €.";
    expect(extractAnswer("And a flat tyre?", prices, { earlier: ["How much is a full service?"] })).toContain(price);
    expect(extractAnswer("And a flat tyre?", prices, { earlier: ["When do you repair chains?"] })).not.toContain(price);
  });

  test("a continued question without a subject is about the subject of the question before it", () => {
    const courses = [
      passage("courses.md", "", "The beginner course takes three hours and costs £35. The kids' club costs £110."),
    ];
    const price = "The beginner course takes three hours and costs £35.\n\n— courses.md";
    expect(extractAnswer("How much does it cost?", courses, { earlier: ["How long is the beginner course?"] })).toBe(
      price,
    );
  });

  test("today is the weekday in the bot's time zone, also within a range", () => {
    const hours = [
      passage(
        "hours.md",
        "",
        "Our kitchen is closed on Sundays.\nDay: Monday; Opens: 14:00.\nDay: Tuesday to Friday; Opens: 10:00.\nThe hall is open daily.",
      ),
      passage("about.md", "", "We are happy to see you today. Today we have a team of nine."),
    ];
    const answer = (message: string, timeZone = "UTC") => extractAnswer(message, hours, { timeZone });
    expect(answer("When do you open today?")).toMatch(/^Day: Monday; Opens: 14:00\./);
    expect(answer("When do you open tomorrow?")).toMatch(/^Day: Tuesday to Friday; Opens: 10:00\./);
    expect(answer("Is the kitchen open today?", "Pacific/Kiritimati")).not.toBe("");
    expect(answer("Is the kitchen open tomorrow?", "Pacific/Pago_Pago")).toMatch(/^Our kitchen is closed/);
  });

  test("a synonym of a word counts as the word, and a dog is a pet", () => {
    const rules = [passage("a.md", "", "Pets are not allowed. Bicycles can be hired at the reception for 9 €.")];
    expect(extractAnswer("Can I bring my dog?", rules)).toMatch(/^Pets are not allowed\./);
    expect(extractAnswer("How much does it cost to rent a bike?", rules)).toMatch(/^Bicycles can be hired/);
    expect(extractAnswer("How much is a cat?", rules)).toSatisfy(isDecline);
  });

  test("a heading that asks the same as the message weighs more than other sentences with its words", () => {
    const faq = [
      passage("faq.md", "Is it free?", "Yes, you pay only for the servers that you use."),
      passage("faq.md", "How do I pay?", "By card, by transfer or by invoice."),
    ];
    expect(extractAnswer("How can I pay?", faq)).toBe(
      "By card, by transfer or by invoice.\n\n— faq.md › How do I pay?",
    );
  });

  test("the answer to a question about anything holds for each thing", () => {
    const faq = [
      passage("faq.md", "Can I send something back?", "Yes, unused and within 30 days."),
      passage("faq.md", "Vase", "The vase costs 22.00."),
    ];
    expect(extractAnswer("Can I send the vase back?", faq)).toMatch(/^Yes, unused and within 30 days\./);
  });

  test("prefers passages in the message's language", () => {
    const mixed = [
      passage("fr.md", "", "Parley est gratuit et libre, sous la licence Apache-2.0."),
      passage("en.md", "", "The service, whose name is Parley, is free and open source."),
    ];
    expect(extractAnswer("Is Parley free or not?", mixed)).toMatch(/^The service/);
    expect(extractAnswer("Est-ce que Parley est gratuit ?", mixed)).toMatch(/^Parley est gratuit/);
  });

  test("a number of hours or euros is no answer to a question for a number of things", () => {
    const course = [passage("a.md", "", "The course for people takes 4 hours and costs 75 euros.")];
    expect(extractAnswer("How many people can join the course?", course)).toSatisfy(isDecline);
    expect(extractAnswer("How many hours does the course take?", course)).toMatch(/^The course/);
  });

  test("the parts of a compound that the search added are no words of the message", () => {
    const terms = ["openai", "open", "ai"].map((word) => create(QueryTermSchema, { word, weight: 2 }));
    const models = [passage("a.md", "", "To use OpenAI, set its key. Open the AI page.")];
    expect(extractAnswer("Can I use OpenAI?", models, { terms })).toMatch(/^To use OpenAI, set its key\./);
  });

  test("a continued question about another day is answered by the sentence that names that day", () => {
    const hours = [
      passage("a.md", "", "We are open Monday to Friday and on Saturday from 10:00. We are closed on Sundays."),
    ];
    const earlier = ["When do you open on Saturday?"];
    expect(extractAnswer("And on Sunday?", hours, { earlier })).toMatch(/^We are closed on Sundays\./);
  });

  test("an e-mail address answers a question for it, and no other sentence does", () => {
    const contact = [passage("a.md", "", "Write to hello@shop.example. We answer each e-mail within a day.")];
    expect(extractAnswer("What is your e-mail address?", contact)).toMatch(/^Write to hello@shop\.example\./);
    expect(extractAnswer("What is your email?", [passage("a.md", "", "We answer each email.")])).toSatisfy(isDecline);
  });

  test("the sentence with the business's place answers better than another with its name", () => {
    const school = [
      passage("school.md", "The school", "You find us at 14 North Street."),
      passage("courses.md", "Courses", "A lesson at the school takes an hour."),
    ];
    expect(extractAnswer("Where is the school?", school)).toMatch(/^You find us at 14 North Street\./);
  });

  test("what happens in a case is answered only by a sentence about that case", () => {
    const lessons = [passage("a.md", "", "Whoever attends most lessons gets a certificate. A lesson takes an hour.")];
    expect(extractAnswer("What happens if I oversleep a lesson?", lessons)).toSatisfy(isDecline);
  });

  test("a question about the place of the business is answered by the sentence that gives it", () => {
    const bakery = [
      passage("a.md", "", "On Sunday the bakery opens at eight. You find us in Lime Lane 4. The bakery sells bread."),
    ];
    expect(extractAnswer("Where is the bakery?", bakery)).toBe("You find us in Lime Lane 4.\n\n— a.md");
    expect(extractAnswer("Where is the town hall?", bakery)).toSatisfy(isDecline);
  });

  test("longer words that the search found for a word count as one word of the question", () => {
    const insurance = [passage("a.md", "", "Ihr Hund braucht eine Haftpflichtversicherung und einen Impfpass.")];
    const terms = ["versicherungsnummer", "versicherungskarte", "haftpflichtversicherung"].map((word) =>
      create(QueryTermSchema, { word, weight: 2 }),
    );
    expect(extractAnswer("Brauche ich eine Versicherung?", insurance, { terms })).toMatch(/^Ihr Hund braucht/);
  });

  test("answers a German question from German passages only if they contain the answer", () => {
    const german = [
      passage(
        "versand.md",
        "Versand",
        "Wir liefern innerhalb von drei Tagen. Die Lieferung auf Inseln dauert eine Woche.",
      ),
      passage("rueckgabe.md", "Rückgabe", "Sie können die Ware innerhalb von 30 Tagen zurückgeben."),
      passage("hunde.md", "Hunde", "Ihr Hund braucht eine Haftpflichtversicherung."),
    ];
    expect(extractAnswer("Wie lange dauern Lieferungen auf eine Insel?", german)).toMatch(
      /^Die Lieferung auf Inseln dauert eine Woche\./,
    );
    expect(extractAnswer("Braucht mein Hund eine Versicherung?", german)).toMatch(/^Ihr Hund braucht/);
    expect(extractAnswer("Wer ist der Bürgermeister von Wien?", german)).toMatch(/^Das weiß ich leider nicht\./);
    expect(extractAnswer("Verkaufen Sie auch Gutscheine?", german)).toSatisfy(isDecline);
  });

  test("quotes a second source only if it adds a word of the question", () => {
    const passages = [
      passage("a.md", "", "Invoices are sent by mail on the first of the month."),
      passage("b.md", "", "You find all invoices in your account."),
      passage("c.md", "", "Newsletters are printed at the desk."),
    ];
    expect(extractAnswer("Where are my invoices?", passages)).not.toContain("b.md");
    expect(extractAnswer("invoices newsletters", passages)).toBe(
      "Invoices are sent by mail on the first of the month.\n\n— a.md\n\nNewsletters are printed at the desk.\n\n— c.md",
    );
  });

  test("prefers the definition that begins with the message's subject", () => {
    const passages = [
      passage("notes.md", "", "The price list names Zephyr twice. Ask about Zephyr at the desk."),
      passage("quota.md", "", "Zephyr releases a hold after ten minutes."),
      passage("readme.md", "Zephyr", "Zephyr is a self-hosted wind meter for boats. It needs no battery."),
    ];
    expect(extractAnswer("What is Zephyr?", passages)).toMatch(/^Zephyr is a self-hosted wind meter for boats\./);
  });

  test("is deterministic", () => {
    const answers = Array.from({ length: 5 }, () => extractAnswer("How are orders delivered and refunded?", SHOP));
    expect(new Set(answers).size).toBe(1);
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

test("a repetitive message of 10,000 characters and passage of 1,400 characters take less than half a second of CPU time", () => {
  for (const unit of [
    "what is ",
    "how many ",
    "then ",
    "a",
    "1",
    "1,",
    "€1",
    " ",
    "- ",
    "my ",
    "ok ",
    "你",
    "Ab ",
    "l'",
    "life jacket ",
    "leave my car ",
  ]) {
    const text = `what is ${unit.repeat(10_000 / unit.length)}`;
    const cpuMs = cpuMsOf(() =>
      extractAnswer(`${text} b c d e f g`, [passage("a.md", text.slice(0, 100), `${text.slice(0, 1_400)}x.`)]),
    );
    expect(cpuMs, unit).toBeLessThan(500);
  }
});

test("a long sentence is cut between words, a long word between characters, and the answer has at most 400 characters", () => {
  const quoteOf = (text: string) => {
    const answer = extractAnswer("refunds", [passage("long.md", "", text)]);
    expect(answer.length).toBeLessThanOrEqual(400);
    expect(answer).toMatch(/ …\n\n— long\.md$/);
    return answer.slice(0, -" …\n\n— long.md".length);
  };
  expect(quoteOf(`Refunds ${"word ".repeat(200)}`)).toMatch(/^Refunds( word)+$/);
  // Each emoji is two UTF-16 units. The first emoji starts at an even position in one text, and at an odd position in the other.
  for (const start of ["Refunds ", "Refunds: "]) {
    const quote = quoteOf(start + "😀".repeat(500));
    expect(quote.isWellFormed()).toBe(true);
    expect(quote.length).toBeGreaterThan(370);
  }
});

test("a question without accents gets the answer that it gets with them", () => {
  const hours = passage("horario.md", "Horario", "- Viernes: de 9:30 a 15:00.\n- Sábado: de 10:00 a 13:30.");
  const answer = extractAnswer("¿A qué hora abrís el sábado?", [hours]);
  expect(answer).toContain("de 10:00 a 13:30");
  expect(extractAnswer("a que hora abris el sabado", [hours])).toBe(answer);
});
