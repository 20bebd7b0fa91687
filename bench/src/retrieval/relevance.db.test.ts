import { startTestPostgres, type TestPostgres } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type System, startSystem } from "../../../tests/system/system.ts";
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
