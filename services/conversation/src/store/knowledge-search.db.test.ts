import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { toChunks } from "../domain/knowledge/chunking.ts";
import { documentBlocks } from "../domain/knowledge/document.ts";
import { createTestDatabase, type TestDatabase } from "../testing/database.ts";
import { createBot } from "../testing/turns.ts";
import type { Bot } from "./bots.ts";
import { deleteSource, listSources, putSource } from "./knowledge.ts";
import { readPassages, searchKnowledge } from "./knowledge-search.ts";

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
  await teach(bot, "handbook.md", HANDBOOK);
});
afterAll(() => db.drop());

const teach = (owner: Bot, name: string, text: string) =>
  putSource(db.database, {
    workspaceId: owner.workspaceId,
    botId: owner.id,
    name,
    format: "md",
    chunks: toChunks(documentBlocks("md", text)),
  });
const search = (message: string, owner = bot) => searchKnowledge(db.database, owner.workspaceId, owner.id, message);

describe("a question as people ask it finds the passage that answers it first", () => {
  test.each([
    ["How many messages do I get on the free plan?", "Plans"],
    ["can I upgrade my workspace to another plan later?", "Plans > Upgrading"],
    ["I want my money back, do you give refunds?", "Refunds"],
    ["when are you open on sunday", "Opening hours"],
    ["How do I erase a conversation?", "Privacy"],
  ])("%s", async (message, heading) => {
    const [best] = await search(message);
    expect(best).toMatchObject({ source: "handbook.md", heading });
  });
});

test("nothing is found for words that are not there, for stop words alone, or for signs", async () => {
  for (const message of ["quantum chromodynamics", "what is it to you?", "&|!() <-> '\\", "':*", `bot:${bot.id}`]) {
    expect(await search(message), message).toEqual([]);
  }
});

test("a long message is searched by its beginning", async () => {
  expect((await search(`refunds ${"x ".repeat(1_996)}`))[0]).toMatchObject({ heading: "Refunds" });
});

test("no bot finds another's knowledge, in its own workspace or elsewhere", async () => {
  const sibling = await createBot(db.database, { workspaceId: bot.workspaceId });
  const stranger = await createBot(db.database);
  expect(await search("refunds", sibling)).toEqual([]);
  expect(await search("refunds", stranger)).toEqual([]);
  expect(await searchKnowledge(db.database, stranger.workspaceId, bot.id, "refunds")).toEqual([]);
  const [passage] = await search("refunds");
  expect(await readPassages(db.database, stranger.workspaceId, [passage?.id ?? 0])).toEqual([]);
});

test("passages are read again by their ids, in the order asked for, without those that are gone", async () => {
  const passages = await search("plan refunds sundays");
  expect(passages.length).toBeGreaterThan(2);
  const reversed = passages.toReversed();
  expect(await readPassages(db.database, bot.workspaceId, [...reversed.map((each) => each.id), 999_999])).toEqual(
    reversed,
  );
});

test("a source added again under its name takes the place of the old one, all at once", async () => {
  const owner = await createBot(db.database);
  const first = await teach(owner, "a.md", "# Old\nThe elephant is grey.");
  const second = await teach(owner, "a.md", "# New\nThe giraffe is tall.\n# More\nThe zebra has stripes.");
  expect(second).toMatchObject({ id: first.id, chunks: 2, characters: 42 });
  expect(await search("elephant", owner)).toEqual([]);
  expect(await search("giraffe", owner)).toHaveLength(1);
  expect(await listSources(db.database, owner.workspaceId, owner.id)).toEqual([second]);
  expect(await deleteSource(db.database, owner.workspaceId, owner.id, "a.md")).toBe(true);
  expect(await deleteSource(db.database, owner.workspaceId, owner.id, "a.md")).toBe(false);
  expect(await search("giraffe", owner)).toEqual([]);
  const { rows } = await db.admin.query("SELECT FROM conversation.knowledge_chunks WHERE bot_id = $1", [owner.id]);
  expect(rows).toEqual([]);
});
