import { explainAnalyze, recordStatements } from "@parley/service-kit/testing";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import type { LanguageName } from "../documents/words/language.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { addDocument, readKnowledge } from "../testing/knowledge.ts";
import { createBot } from "../testing/turns.ts";
import { deleteSource, listSources } from "./knowledge.store.ts";
import { readPassages } from "./knowledge-search.store.ts";
import { searchByWords } from "./word-search.service.ts";

const HANDBOOK = `
# Plans
The free plan includes 100 messages a month. The Pro plan includes 5,000.
## Upgrading
You can change the plan of a workspace at any time; the new limit holds at once.
# Refunds
We refund an order within 30 days of its delivery. Shipping costs are not refunded.
# Opening hours
Our shop in Berlin opens from nine to six on weekdays. On Sundays it is closed.
# Privacy
Conversations can be erased for good with a single command.
`;

let db: TestDatabase;
let bot: Bot;
beforeAll(async () => {
  db = await createTestDatabase();
  bot = await createBot(db.database);
  await add(bot, "handbook.md", HANDBOOK);
});
afterAll(() => db.drop());

/** Adds a document with putSource. */
const add = (owner: Bot, name: string, text: string, language?: LanguageName) =>
  addDocument(db.database, owner, name, text, language);
const search = async (message: string, owner = bot) =>
  (await searchByWords(db.database, await readKnowledge(db.database, owner), message)).passages;

describe("searchByWords ranks first the passage that answers a colloquial or misspelt question", () => {
  test.each([
    ["How many messages do I get on the free plan?", "Plans"],
    ["can I upgrade my workspace to another plan later?", "Plans > Upgrading"],
    ["I want my money back, do you give refunds?", "Refunds"],
    ["when are you open on sunday", "Opening hours"],
    ["How do I erase a conversation?", "Privacy"],
    ["refnud of an oder", "Refunds"],
    ["when is it closd on sundys", "Opening hours"],
    ["upgradding my workspce", "Plans > Upgrading"],
  ])("%s", async (message, heading) => {
    const [best] = await search(message);
    expect(best).toMatchObject({ source: "handbook.md", heading });
  });
});

test("searchByWords ranks first the passage whose heading is the message, among many that have its words more often", async () => {
  const owner = await createBot(db.database);
  const others = Array.from({ length: 40 }, (_, n) => `# Parley ${n}\nParley is what it is: Parley, part ${n}.\n`);
  await add(owner, "docs.md", `# Questions\n## What is Parley?\nA widget for chats.\n${others.join("")}`);
  for (const message of ["What is Parley?", "what is parley", " WHAT IS PARLEY ?! "]) {
    const [best] = await search(message, owner);
    expect(best).toMatchObject({ heading: "Questions > What is Parley?" });
  }
  const [best] = await search("Parley", owner);
  expect(best).not.toMatchObject({ heading: "Questions > What is Parley?" });
});

test("searchByWords takes a word with synonyms for no misspelling, and the words of the context only add to the ranks", async () => {
  const owner = await createBot(db.database);
  await add(
    owner,
    "shop.md",
    "# Mall\nShopping hours are long.\n# Delivery\nDelivery is free.\n# Mug\nThe mug is red.",
  );
  const knowledge = await readKnowledge(db.database, owner);
  expect((await searchByWords(db.database, knowledge, "shipping")).passages).toEqual([]);
  const { passages, terms } = await searchByWords(db.database, knowledge, "red shipping", "delivery");
  expect(passages.map(({ heading }) => heading)).toEqual(["Mug", "Delivery"]);
  expect(terms.map(({ word }) => word)).toEqual(["red", "shipping"]);
});

test("searchByWords corrects a misspelt word even if hundreds of documents have another word with the same prefix", async () => {
  const owner = await createBot(db.database);
  await db.admin.query(
    `WITH source AS (
       INSERT INTO conversation.knowledge_sources (workspace_id, bot_id, name, format, characters, chunks, updated_at)
       SELECT $1, $2, 'notes-' || number, 'txt', 7, 0, now() FROM generate_series(1, 600) AS number RETURNING source_id
     )
     INSERT INTO conversation.knowledge_words (workspace_id, bot_id, source_id, word, lexeme, chunks)
     SELECT $1, $2, source_id, 'contact', 'contact', 1 FROM source`,
    [owner.workspaceId, owner.id],
  );
  await add(owner, "shipping.md", "We ship each container on Mondays.");
  expect(await search("contanier", owner)).toMatchObject([{ source: "shipping.md" }]);
});

/** Returns paragraphs of 20 words. The words run through w0 to w4999 repeatedly, in a fixed mixed order. */
function largeText(paragraphs: number): string {
  // Without digits, which the index separates from letters.
  const word = (at: number) =>
    `x${String((at * 7_919) % 5_000).replace(/\d/g, (digit) => "abcdefghij"[Number(digit)] ?? "")}`;
  const words = (paragraph: number) => Array.from({ length: 20 }, (_, place) => word(paragraph * 20 + place));
  return Array.from({ length: paragraphs }, (_, paragraph) => `${words(paragraph).join(" ")}.`).join("\n\n");
}

/** Inserts 8,000 words for a bot, each in one of 20 documents. */
const insertWords = (owner: Bot) =>
  db.admin.query(
    `WITH source AS (
       INSERT INTO conversation.knowledge_sources (workspace_id, bot_id, name, format, characters, chunks, updated_at)
       SELECT $1, $2, 'words-' || number, 'txt', 7, 0, now() FROM generate_series(1, 20) AS number RETURNING source_id
     ), word AS (
       SELECT source_id, 'w' || md5(source_id || '-' || number) AS word FROM source, generate_series(1, 400) AS number
     )
     INSERT INTO conversation.knowledge_words (workspace_id, bot_id, source_id, word, lexeme, chunks)
     SELECT $1, $2, source_id, word, word, 1 FROM word`,
    [owner.workspaceId, owner.id],
  );

/** Rebuilds the indexes of knowledge_words: `index` with full pages, the others with mostly empty pages. PostgreSQL then prefers `index`. */
async function makeSmallest(index: string) {
  const { rows } = await db.admin.query<{ name: string }>(
    "SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indrelid = 'conversation.knowledge_words'::regclass",
  );
  for (const { name } of rows)
    await db.admin.query(`ALTER INDEX ${name} SET (fillfactor = ${name.endsWith(`.${index}`) ? 100 : 10})`);
  await db.admin.query("REINDEX TABLE conversation.knowledge_words");
}

describe("searchByWords reads few database pages for a bot with 8,000 words", () => {
  beforeAll(async () => {
    await db.admin.query("ALTER TABLE conversation.knowledge_words SET (autovacuum_enabled = off)");
  });

  test.each(["knowledge_words_lexeme", "knowledge_words_beginning", "knowledge_words_end"])(
    "without statistics, while %s is the smallest index",
    async (index) => {
      await db.admin.query("TRUNCATE conversation.knowledge_words");
      const owner = await createBot(db.database);
      await insertWords(owner);
      await add(owner, "refunds.md", "Refunds are paid within 14 days of every order.");
      await makeSmallest(index);

      const knowledge = await readKnowledge(db.database, owner);
      const statements = await recordStatements(db.database, (database) =>
        searchByWords(database, knowledge, "When are refnuds of orders paid?"),
      );
      // One search with the misspelt word, one statement that finds the correction, and a second search.
      expect(statements).toHaveLength(3);
      for (const statement of statements)
        for (const plan of await explainAnalyze(db.admin, statement))
          expect(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"], statement.text).toBeLessThan(1_000);
    },
  );
});

describe("searchByWords reads few database pages for a bot with over 500 chunks", () => {
  let owner: Bot;
  beforeAll(async () => {
    await db.admin.query("ALTER TABLE conversation.knowledge_chunks SET (autovacuum_enabled = off)");
    for (let bots = 0; bots < 50; bots++) await add(await createBot(db.database), "small.md", largeText(10));
    owner = await createBot(db.database);
    await add(owner, "rare.md", "A zebra has stripes.");
    for (let number = 0; number < 2; number++) await add(owner, `large-${number}.md`, largeText(3_000));
  });

  test.each([
    ["without statistics", "SELECT 1"],
    ["with statistics, which show that most bots have one chunk", "ANALYZE conversation.knowledge_chunks"],
    ["after a vacuum", "VACUUM ANALYZE conversation.knowledge_chunks"],
  ])("%s", async (_, prepare) => {
    await db.admin.query(prepare);
    const knowledge = await readKnowledge(db.database, owner);
    expect(knowledge.chunks).toBeGreaterThan(500);
    const [statement] = await recordStatements(db.database, (database) => searchByWords(database, knowledge, "zebra"));
    if (statement === undefined) throw new Error("no statement");
    for (const plan of await explainAnalyze(db.admin, statement))
      expect(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]).toBeLessThan(100);
  });
});

test("searchByWords finds nothing for unknown words, stop words alone, punctuation or the bot's own lexeme", async () => {
  // The search vector of each chunk has the lexeme bot:<id>. The id is fixed, because parts of a random id could be words of the text.
  const owner = await createBot(db.database, { id: "b239eae6-0c79-4ab7-9966-7ee4f466c29d" });
  await add(owner, "handbook.md", HANDBOOK);
  for (const message of ["quantum chromodynamics", "what is it to you?", "&|!() <-> '\\", "':*", `bot:${owner.id}`]) {
    expect(await search(message, owner), message).toEqual([]);
  }
});

test("searchByWords searches only for the first words of a long message", async () => {
  const filler = "x ".repeat(1_996);
  expect((await search(`refunds ${filler}`))[0]).toMatchObject({ heading: "Refunds" });
  expect(await search(`${filler} refunds`)).toEqual([]);
});

test("searchByWords finds no passage of another bot, and readPassages returns none of another workspace", async () => {
  const sibling = await createBot(db.database, { workspaceId: bot.workspaceId });
  const stranger = await createBot(db.database);
  expect(await search("refunds", sibling)).toEqual([]);
  expect(await search("refunds", stranger)).toEqual([]);
  const foreign = { ...(await readKnowledge(db.database, bot)), workspaceId: stranger.workspaceId };
  expect((await searchByWords(db.database, foreign, "refunds")).passages).toEqual([]);
  const [passage] = await search("refunds");
  expect(await readPassages(db.database, stranger.workspaceId, [passage?.id ?? 0])).toEqual([]);
});

test("readPassages returns the passages in the order of the given ids, and skips ids without a passage", async () => {
  const passages = await search("plan refunds sundays");
  expect(passages.length).toBeGreaterThan(2);
  const reversed = passages.toReversed().map(({ wordRank: _, ...passage }) => passage);
  expect(await readPassages(db.database, bot.workspaceId, [...reversed.map((each) => each.id), 999_999])).toEqual(
    reversed,
  );
});

test("putSource replaces a source that is added again under the same name", async () => {
  const owner = await createBot(db.database);
  const first = await add(owner, "a.md", "# Old\nThe elephant is grey.");
  const second = await add(owner, "a.md", "# New\nThe giraffe is tall.\n# More\nThe zebra has stripes.");
  expect(second).toMatchObject({ id: first.id, chunks: 2, characters: 42 });
  expect(await search("elephant", owner)).toEqual([]);
  expect(await search("giraffe", owner)).toHaveLength(1);
  const ref = { workspaceId: owner.workspaceId, botId: owner.id };
  expect(await listSources(db.database, ref, { query: "", after: undefined, limit: 10 })).toEqual([second]);
  expect(await deleteSource(db.database, { ...ref, name: "a.md" })).toBe(true);
  expect(await deleteSource(db.database, { ...ref, name: "a.md" })).toBe(false);
  expect(await search("giraffe", owner)).toEqual([]);
  const { rows } = await db.admin.query("SELECT FROM conversation.knowledge_chunks WHERE bot_id = $1", [owner.id]);
  expect(rows).toEqual([]);
});

test("putSource stores a large document with several statements, counts the chunks of each lexeme, and reads no stored chunk", async () => {
  const owner = await createBot(db.database);
  const text = `${largeText(2_000)}\n\nOne refund.\n\n${largeText(2_000)}\n\n# More\nAll refunds, and the refund.`;
  const statements = await recordStatements(db.database, (database) => addDocument(database, owner, "large.md", text));
  const inserts = statements.filter(({ text: sql }) => /INSERT INTO conversation.knowledge_(chunks|words)/.test(sql));
  expect(inserts.length).toBeGreaterThan(4);
  for (const { text: sql, values } of inserts) {
    const { rows } = await db.admin.query(`EXPLAIN (FORMAT JSON) ${sql}`, values);
    expect(JSON.stringify(rows)).not.toMatch(/Scan",[^{}]*"Relation Name":"knowledge_chunks"/);
  }
  const { rows: stored } = await db.admin.query<{ word: string; lexeme: string; chunks: number }>(
    "SELECT word, lexeme, chunks FROM conversation.knowledge_words WHERE bot_id = $1",
    [owner.id],
  );
  const { rows: counted } = await db.admin.query<{ lexeme: string; chunks: number }>(
    `SELECT lexeme, count(*)::integer AS chunks
     FROM conversation.knowledge_chunks, unnest(tsvector_to_array(terms)) AS lexeme WHERE bot_id = $1 GROUP BY lexeme`,
    [owner.id],
  );
  const chunksByLexeme = new Map(counted.map(({ lexeme, chunks }) => [lexeme, chunks]));
  expect(stored.filter(({ lexeme, chunks }) => chunks !== chunksByLexeme.get(lexeme))).toEqual([]);
  expect(stored).toHaveLength(5_000 + 3);
  expect(stored).toContainEqual({ word: "refund", lexeme: "refund", chunks: 2 });
  expect(stored).toContainEqual({ word: "refunds", lexeme: "refund", chunks: 2 });
});

test("putSource keeps exactly one of several sources that are added concurrently under the same name", async () => {
  const owner = await createBot(db.database);
  const animals = ["elephant", "giraffe", "zebra", "ostrich", "leopard", "buffalo", "cheetah", "hyena"];
  for (let round = 0; round < 5; round++) {
    await Promise.all(
      animals.map((animal) =>
        add(owner, "a.md", Array.from({ length: 5 }, (_, part) => `# Part ${part}\nThe ${animal}.`).join("\n")),
      ),
    );
    const found = (await Promise.all(animals.map((animal) => search(animal, owner)))).filter((each) => each.length > 0);
    expect(found).toHaveLength(1);
    expect(found[0]).toHaveLength(5);
    const { rows } = await db.admin.query(
      `SELECT (SELECT count(*) FROM conversation.knowledge_chunks WHERE bot_id = $1)::int AS chunks,
              (SELECT count(*) FROM conversation.knowledge_words WHERE bot_id = $1 AND word = ANY ($2))::int AS animals`,
      [owner.id, animals],
    );
    expect(rows).toEqual([{ chunks: 5, animals: 1 }]);
  }
});

test("a search during a replacement finds either all old or all new chunks", async () => {
  const owner = await createBot(db.database);
  const version = (word: string) => `# One\nFrogs ${word}.\n# Two\nFrogs also ${word}.`;
  await add(owner, "a.md", version("jump"));
  let isReplacing = true;
  const replaceRepeatedly = async () => {
    for (let round = 0; round < 20; round++) await add(owner, "a.md", version(round % 2 === 0 ? "swim" : "jump"));
  };
  const replacements = replaceRepeatedly().finally(() => {
    isReplacing = false;
  });
  while (isReplacing) {
    const texts = (await search("frogs", owner)).map(({ text }) => /jump|swim/.exec(text)?.[0]);
    expect([["jump", "jump"].join(), ["swim", "swim"].join()]).toContain(texts.join());
  }
  await replacements;
});

describe("searchByWords matches the words of a question by the rules of the source's language", () => {
  test.each<[LanguageName, string, string, string]>([
    ["german", "# Versand\nDie Lieferungen dauern drei Tage.", "Wie lange dauert eine Lieferung?", "Versand"],
    [
      "french",
      "# Livraison\nNous livrons les commandes en trois jours.",
      "Quand livrez-vous ma commande ?",
      "Livraison",
    ],
    ["spanish", "# Envíos\nEntregamos los pedidos en tres días.", "¿Cuándo se entrega mi pedido?", "Envíos"],
    ["simple", "# Dostawa\nPaczka przychodzi po trzech dniach.", "kiedy przychodzi paczka", "Dostawa"],
  ])("%s", async (language, text, message, heading) => {
    const owner = await createBot(db.database);
    await add(owner, "other.md", "# Other\nNothing of the kind.");
    await add(owner, "a.md", text, language);
    expect((await search(message, owner))[0]).toMatchObject({ source: "a.md", heading });
  });

  test("a language without spaces between words", async () => {
    const owner = await createBot(db.database);
    await add(
      owner,
      "a.md",
      "# 営業時間\n店は九時から六時まで開いています。\n# 返品\n返品は三十日以内に受け付けます。",
      "simple",
    );
    expect((await search("返品できますか", owner))[0]).toMatchObject({ heading: "返品" });
  });
});

test("searchByWords finds a compound identifier by its parts and as a whole", async () => {
  const owner = await createBot(db.database);
  await add(owner, "a.md", "# Options\nSet keepAliveTimeout to 72 seconds.\n# Other\nNothing here.");
  for (const message of ["keepAliveTimeout", "keep alive timeout", "timeout"])
    expect((await search(message, owner))[0], message).toMatchObject({ heading: "Options" });
});

test("searchByWords finds a compound by one of its words if no document contains the word itself", async () => {
  const owner = await createBot(db.database);
  await add(owner, "a.md", "# Hunde\nIhr Hund braucht eine Haftpflichtversicherung.\n# Katzen\nNichts.", "german");
  expect((await search("Brauche ich eine Versicherung?", owner))[0]).toMatchObject({ heading: "Hunde" });
});
