import { startTestPostgres, type TestPostgres } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type System, startSystem } from "../../../tests/system/system.ts";
import { teachBot } from "./ask.ts";
import { GOALS, measureRelevance } from "./measure.ts";
import { plainText, readRelevanceSet } from "./set.ts";

let system: System;
// On a server of its own: the services' own tests give the roles of theirs other passwords.
let server: TestPostgres;
beforeAll(async () => {
  server = await startTestPostgres();
  system = await startSystem({ databaseServerUrl: server.url });
}, 120_000);
afterAll(async () => {
  await system.stop();
  await server.stop();
}, 60_000);

test("every passage of the set stands in the file it names", () => {
  const { documents, questions } = readRelevanceSet();
  const plain = new Map(documents.map(({ name, text }) => [name, plainText(text)]));
  const all = [...plain.values()].join("\n");
  for (const { id, file, passages } of questions) {
    for (const passage of passages) expect(all, `${id}: ${passage}`).toContain(plainText(passage).trim());
    expect(
      passages.some((passage) => plain.get(file)?.includes(plainText(passage).trim())),
      id,
    ).toBe(true);
  }
  expect(questions.length).toBeGreaterThanOrEqual(60);
});

test("the right passage is among the first five, the built-in model quotes it, and says so when there is none", async () => {
  const { all, dev, held } = await measureRelevance(system);
  const figures = JSON.stringify({ all, dev, held });
  expect(all.recallAt5, figures).toBeGreaterThanOrEqual(GOALS.recallAt5);
  expect(all.answered, figures).toBeGreaterThanOrEqual(GOALS.answered);
  expect(all.refused, figures).toBeGreaterThanOrEqual(GOALS.refused);
}, 120_000);

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
  ["a single sentence", "Bicycles travel free of charge."],
])(
  "a bot that knows %s answers what something costs that it names, and refuses what it does not name",
  async (_, text) => {
    const asker = await teachBot(system, [{ name: "ferry.md", text }]);
    const answers = async (...questions: string[]) => {
      const asked: Record<string, string> = {};
      for (const question of questions) asked[question] = (await asker.ask(question)).answer;
      return asked;
    };
    const named = await answers(
      "do bicycles cost extra?",
      "do bicyles cost extra?",
      "is there a charge for bicycles?",
      "Do I have to pay extra for a bicycle?",
      "what is the price for bicycles",
    );
    const unnamed = await answers(
      "does the minibar cost extra?",
      "is there an additional fee for parking?",
      "what does the hotel cost?",
      "do you sell bicycle pumps?",
      "is wifi free?",
      "is smoking allowed?",
    );
    asker.close();
    for (const [question, answer] of Object.entries(named))
      expect(answer, question).toContain("Bicycles travel free of charge.");
    for (const [question, answer] of Object.entries(unnamed))
      expect(answer, question).toMatch(/^Sorry, I don't know\./);
  },
);
