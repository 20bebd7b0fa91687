import { afterAll, beforeAll, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import type { LanguageName } from "../documents/words/language.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { addDocument, readKnowledge } from "../testing/knowledge.ts";
import { SPELLING_PAIRS } from "../testing/spelling-pairs.ts";
import { createBot } from "../testing/turns.ts";
import { searchByWords } from "./word-search.service.ts";

const MIN_FOUND_SHARE = 0.95;

let db: TestDatabase;
beforeAll(async () => {
  db = await createTestDatabase();
});
afterAll(() => db.drop());

type Case = { language: LanguageName; inDocument: string; inQuestion: string };

/** Both directions of each pair: each text once in a document and once in a question. */
const CASES: readonly Case[] = Object.entries(SPELLING_PAIRS).flatMap(([language, pairs]) =>
  pairs.flatMap(([one, other]) =>
    [
      [one, other],
      [other, one],
    ].map(([inDocument = "", inQuestion = ""]) => ({ language: language as LanguageName, inDocument, inQuestion })),
  ),
);

async function isFirst(owner: Bot, { language, inDocument, inQuestion }: Case, others: readonly string[]) {
  const filler = others.map((text, index) => `# Other ${index}\n\n${text}.`).join("\n\n");
  await addDocument(db.database, owner, "shop.md", `${filler}\n\n# Answer\n\n${inDocument}.`, language);
  const { passages } = await searchByWords(db.database, await readKnowledge(db.database, owner), inQuestion);
  return passages[0]?.heading === "Answer";
}

test(`searchByWords finds at least ${MIN_FOUND_SHARE * 100} % of texts by other spellings of their words`, async () => {
  const owner = await createBot(db.database);
  const pairs = Object.values(SPELLING_PAIRS).flat();
  expect(pairs.length).toBeGreaterThanOrEqual(120);
  expect(Object.keys(SPELLING_PAIRS).length).toBeGreaterThanOrEqual(12);
  const missed: string[] = [];
  for (const each of CASES) {
    const ofLanguage = CASES.filter(({ language }) => language === each.language);
    const index = ofLanguage.indexOf(each);
    // Texts of other pairs, so that the knowledge has other words.
    const others = [2, 4, 6].map((step) => ofLanguage[(index + step) % ofLanguage.length]?.inDocument ?? "");
    if (!(await isFirst(owner, each, others))) missed.push(`${each.language}: ${each.inDocument} ← ${each.inQuestion}`);
  }
  expect(missed.length / CASES.length, missed.join("\n")).toBeLessThanOrEqual(1 - MIN_FOUND_SHARE);
}, 300_000);

test("one part of a compound finds a passage, but is not among the terms", async () => {
  const owner = await createBot(db.database);
  await addDocument(
    db.database,
    owner,
    "shop.md",
    "# Kurse\n\nHunde sind willkommen. Der Versand kostet wenig.",
    "german",
  );
  const knowledge = await readKnowledge(db.database, owner);
  const { passages, terms } = await searchByWords(db.database, knowledge, "Hundefutter");
  expect(passages).toHaveLength(1);
  expect(terms).toEqual([]);
});
