import { createLogger, Registry } from "@parley/service-kit";
import { HANDBOOK } from "@parley/test-support";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { meaningSearches } from "../metrics.ts";
import { knowledgeOf, teach } from "../testing/knowledge.ts";
import { startTestLlm, type TestLlm } from "../testing/llm.ts";
import { createBot } from "../testing/turns.ts";
import { startVectorDatabase, type VectorDatabase } from "../testing/vectors.ts";
import { claimSource, releaseSource } from "./embeddings.store.ts";
import { EmbeddingWorker } from "./embeddings.worker.ts";
import { findKnowledge } from "./find-knowledge.service.ts";
import { listSources } from "./knowledge.store.ts";
import { Meanings } from "./semantic-search.service.ts";
import { searchKnowledge } from "./word-search.service.ts";

/** Of more chunks than one batch takes. */
const LONG = Array.from({ length: 80 }, (_, index) => `# Part ${index}\n\nThis is about matter ${index}.`).join("\n\n");

const log = createLogger("test", "silent");
const never = new AbortController().signal;

let db: VectorDatabase;
let llm: TestLlm;
let bot: Bot;
beforeAll(async () => {
  db = await startVectorDatabase();
}, 180_000);
afterAll(() => db.stop());
beforeEach(async () => {
  llm = await startTestLlm();
  bot = await createBot(db.database);
});
afterEach(async () => {
  llm.close();
  await db.database.query("DELETE FROM conversation.knowledge_sources");
});

const worker = () => new EmbeddingWorker(db.database, llm.client, log);
const embeddedOf = async (of = bot) =>
  (await listSources(db.database, of.workspaceId, of.id)).map(({ embedded, chunks }) => `${embedded} of ${chunks}`);

function newMeanings(now = () => performance.now()) {
  const registry = new Registry();
  const meanings = new Meanings({
    database: db.database,
    llm: llm.client,
    searches: meaningSearches(registry),
    log,
    now,
  });
  const counted = async (result: string) => {
    const { values } = (await registry.getSingleMetric("parley_knowledge_semantic_searches_total")?.get()) ?? {
      values: [],
    };
    return values.find(({ labels }) => labels.result === result)?.value;
  };
  return { meanings, counted };
}

test("nothing is embedded while the database has no pgvector; once it has been created, everything is", async () => {
  await teach(db.database, bot, "handbook.md", HANDBOOK);
  const embeddings = worker();
  await embeddings.run(never);
  expect(embeddings.status).toEqual({ state: "no_pgvector", model: "test:words" });
  expect(llm.calls).toEqual([]);
  expect((await knowledgeOf(db.database, bot)).isEmbedded).toBe(false);
  await db.asOperator("CREATE EXTENSION vector");
  await embeddings.run(never);
  expect(embeddings.status).toEqual({ state: "on", model: "test:words" });
  expect(await embeddedOf()).toEqual(["3 of 3"]);
  expect(await embeddings.countLeft()).toBe(0);
});

describe("with pgvector", () => {
  test("nothing is embedded where no model is configured", async () => {
    llm.model = undefined;
    await teach(db.database, bot, "handbook.md", HANDBOOK);
    const embeddings = worker();
    await embeddings.run(never);
    expect(embeddings.status).toEqual({ state: "off", model: "" });
    expect(await embeddedOf()).toEqual(["0 of 3"]);
  });

  test("a failure keeps what was done; another process goes on from there, and embeds nothing twice", async () => {
    await teach(db.database, bot, "long.md", LONG);
    llm.before = () => {
      if (llm.calls.length === 2) throw new Error("the provider fails");
    };
    const first = worker();
    await expect(first.run(never)).rejects.toThrow();
    expect(await embeddedOf()).toEqual(["32 of 80"]);
    expect(await first.countLeft()).toBe(48);
    // What failed is left alone for a while, then it is anyone's.
    expect(await claimSource(db.database, "test:words")).toBeUndefined();
    await db.database.query("UPDATE conversation.knowledge_sources SET embedding_until = now() - interval '1 second'");
    llm.calls.length = 0;
    llm.before = () => undefined;
    await worker().run(never);
    expect(await embeddedOf()).toEqual(["80 of 80"]);
    expect(llm.calls.flat()).toHaveLength(48);
    await worker().run(never);
    expect(llm.calls.flat()).toHaveLength(48);
  });

  test("a source that is replaced while it is embedded is embedded anew, and keeps nothing of the old", async () => {
    await teach(db.database, bot, "long.md", LONG);
    llm.before = async () => {
      if (llm.calls.length === 2) await teach(db.database, bot, "long.md", HANDBOOK);
    };
    await worker().run(never);
    expect(await embeddedOf()).toEqual(["3 of 3"]);
    const { rows } = await db.database.query("SELECT count(*) AS count FROM conversation.knowledge_embeddings");
    expect(rows).toEqual([{ count: 3 }]);
  });

  test("another model embeds everything again, in place of the first one's", async () => {
    await teach(db.database, bot, "handbook.md", HANDBOOK);
    const embeddings = worker();
    await embeddings.run(never);
    llm.model = "test:other";
    await embeddings.run(never);
    const { rows } = await db.database.query("SELECT DISTINCT model FROM conversation.knowledge_embeddings");
    expect(rows).toEqual([{ model: "test:other" }]);
    expect(await embeddedOf()).toEqual(["3 of 3"]);
  });

  test("a model that comes back finds its own vectors, and none are made twice", async () => {
    await teach(db.database, bot, "handbook.md", HANDBOOK);
    await worker().run(never);
    const other = await claimSource(db.database, "test:other");
    if (other === undefined) throw new Error("another model has nothing to do");
    await releaseSource(db.database, other, 0);
    expect(await embeddedOf()).toEqual(["0 of 3"]);
    const asked = llm.calls.length;
    await worker().run(never);
    expect(await embeddedOf()).toEqual(["3 of 3"]);
    expect(llm.calls.length).toBe(asked);
  });

  test("a source is one process's at a time", async () => {
    await teach(db.database, bot, "one.md", HANDBOOK);
    await teach(db.database, bot, "two.md", HANDBOOK);
    const claimed = [
      await claimSource(db.database, "test:words"),
      await claimSource(db.database, "test:words"),
      await claimSource(db.database, "test:words"),
    ];
    expect(new Set(claimed.map((each) => each?.sourceId)).size).toBe(3);
    expect(claimed[2]).toBeUndefined();
    const [first] = claimed;
    if (first === undefined) throw new Error("nothing was claimed");
    await releaseSource(db.database, first, 0);
    expect(await claimSource(db.database, "test:words")).toEqual(first);
  });

  test("a question finds what means the same in other words, and still what its words find", async () => {
    await teach(db.database, bot, "handbook.md", HANDBOOK);
    await worker().run(never);
    const knowledge = await knowledgeOf(db.database, bot);
    const { meanings, counted } = newMeanings();
    const ask = async (message: string) =>
      (await findKnowledge(db.database, meanings, knowledge, message)).passages.map(({ heading }) => heading);
    expect((await searchKnowledge(db.database, knowledge, "any refund for a dog?")).passages).toEqual([]);
    expect((await ask("may I bring my dog")).at(0)).toBe("Pets");
    expect((await ask("how to get a refund")).at(0)).toBe("Money");
    expect((await ask("when does the shop open on weekdays")).at(0)).toBe("Hours");
    expect(await counted("ok")).toBe(3);
  });

  test("a bot finds nothing of another's, in its workspace or outside it", async () => {
    const neighbour = await createBot(db.database, { workspaceId: bot.workspaceId });
    const stranger = await createBot(db.database);
    await teach(db.database, neighbour, "a.md", "# Secret\nDogs are welcome.");
    await teach(db.database, stranger, "b.md", "# Foreign\nDogs are welcome.");
    await teach(db.database, bot, "c.md", "# Own\nThe weather is fine.");
    await worker().run(never);
    const { meanings } = newMeanings();
    const found = await meanings.nearest(await knowledgeOf(db.database, bot), "puppy");
    expect(found.map(({ heading }) => heading)).toEqual(["Own"]);
  });

  test("a slow or failing model leaves the visitor with what the words find, and is soon not waited for at all", async () => {
    await teach(db.database, bot, "handbook.md", HANDBOOK);
    await worker().run(never);
    const knowledge = await knowledgeOf(db.database, bot);
    let nowMs = 0;
    const { meanings, counted } = newMeanings(() => nowMs);
    const ask = () => findKnowledge(db.database, meanings, knowledge, "when does the shop open");
    const byWords = (await searchKnowledge(db.database, knowledge, "when does the shop open")).passages;
    const asked = llm.calls.length;

    const late = Promise.withResolvers<void>();
    llm.before = () => late.promise;
    const startedAt = performance.now();
    expect((await ask()).passages).toEqual(byWords);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    late.resolve();
    llm.before = () => {
      throw new Error("the provider fails");
    };
    expect((await ask()).passages).toEqual(byWords);
    expect((await ask()).passages).toEqual(byWords);
    expect([await counted("timeout"), await counted("failed")]).toEqual([1, 2]);

    expect((await ask()).passages).toEqual(byWords);
    expect(await counted("paused")).toBe(1);
    expect(llm.calls.length - asked).toBe(3);

    nowMs += 10_000;
    llm.before = () => undefined;
    expect((await ask()).passages.length).toBeGreaterThan(byWords.length);
    expect(await counted("ok")).toBe(1);
  });
});
