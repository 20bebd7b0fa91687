import { startTestPostgres, type TestPostgres } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { isDecline } from "../../../services/llm-proxy/src/providers/builtin/small-talk.ts";
import { type System, startSystem } from "../../../tests/system/system.ts";
import { createKnowledgeBot } from "./knowledge-bot.ts";
import { GOALS, measureRelevance } from "./measure.ts";
import { plainText, readRelevanceSet } from "./relevance-set.ts";

let system: System;
// A separate server: on the shared server, the services' tests set other passwords for the services' database roles.
let server: TestPostgres;
beforeAll(async () => {
  server = await startTestPostgres();
  system = await startSystem({ databaseServerUrl: server.url });
}, 120_000);
afterAll(async () => {
  await system.stop();
  await server.stop();
}, 60_000);

test("the set has at least 60 questions; each quotation occurs in a document, and each question has a quotation in the document that the question's `file` names", () => {
  const { documents, questions } = readRelevanceSet();
  const plain = new Map(documents.map(({ name, text }) => [name, plainText(text)]));
  const all = [...plain.values()].join("\n");
  for (const { id, file, quotations } of questions) {
    for (const quotation of quotations) expect(all, `${id}: ${quotation}`).toContain(plainText(quotation).trim());
    expect(
      quotations.some((quotation) => plain.get(file)?.includes(plainText(quotation).trim())),
      id,
    ).toBe(true);
  }
  expect(questions.length).toBeGreaterThanOrEqual(60);
});

// More than 60 sequential questions can take more than two minutes on a busy machine.
test("search and the built-in model meet the goals for hit rate, answers with a quotation, and refusals", async () => {
  const { all, dev, holdout } = await measureRelevance(system);
  const figures = JSON.stringify({ all, dev, holdout });
  expect(all.hitRateAt5, figures).toBeGreaterThanOrEqual(GOALS.hitRateAt5);
  expect(all.answersWithQuotation, figures).toBeGreaterThanOrEqual(GOALS.answersWithQuotation);
  expect(all.answersFromDocument, figures).toBeGreaterThanOrEqual(GOALS.answersFromDocument);
  expect(all.refused, figures).toBeGreaterThanOrEqual(GOALS.refused);
}, 300_000);

const FERRY = `# Island ferry
## Pets
Dogs travel free on a lead. Cats must stay in a carrier.
## Bicycles
Bicycles travel free of charge. Cargo bikes need a booking.
## Tickets
A single ticket is 12 euros, a return ticket 20 euros.
## Timetable
The first boat leaves at 6:30, the last at 22:00.
`;

test.each([
  ["a document of four sections", FERRY],
  ["a document of one sentence", "Bicycles travel free of charge."],
])(
  "a bot with %s quotes the sentence that answers a price question; if the document has no answer, the bot declines",
  async (_, text) => {
    const bot = await createKnowledgeBot(system, [{ name: "ferry.md", text }]);
    const askAll = async (...questions: string[]) => {
      const answers: Record<string, string> = {};
      for (const question of questions) answers[question] = (await bot.ask(question)).answer;
      return answers;
    };
    const known = await askAll(
      "do bicycles cost extra?",
      "do bicyles cost extra?",
      "is there a charge for bicycles?",
      "Do I have to pay extra for a bicycle?",
      "what is the price for bicycles",
    );
    const unknown = await askAll(
      "does the minibar cost extra?",
      "is there an additional fee for parking?",
      "what does the hotel cost?",
      "do you sell bicycle pumps?",
      "is wifi free?",
      "is smoking allowed?",
    );
    bot.close();
    for (const [question, answer] of Object.entries(known))
      expect(answer, question).toContain("Bicycles travel free of charge.");
    for (const [question, answer] of Object.entries(unknown)) expect(answer, question).toSatisfy(isDecline);
  },
);
