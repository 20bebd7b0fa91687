import { RpcError, status } from "@parley/rpc";
import { createLogger, Registry } from "@parley/service-kit";
import { HANDBOOK } from "@parley/test-support";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { createSemanticSearchCounter } from "../metrics.ts";
import { addDocument, readKnowledge } from "../testing/knowledge.ts";
import { startTestLlm, type TestLlm } from "../testing/llm.ts";
import { createBot } from "../testing/turns.ts";
import { startVectorDatabase, type VectorDatabase } from "../testing/vectors.ts";
import { claimSource, releaseSource, storeEmbeddings } from "./embeddings.store.ts";
import { type EmbeddingClient, EmbeddingWorker } from "./embeddings.worker.ts";
import { searchHybrid } from "./hybrid-search.service.ts";
import { listSources } from "./knowledge.store.ts";
import { SemanticSearch } from "./semantic-search.service.ts";
import { searchByWords } from "./word-search.service.ts";

/** A document with more chunks than fit in one batch. */
const LONG = Array.from({ length: 80 }, (_, index) => `# Part ${index}\n\nThis is about matter ${index}.`).join("\n\n");

const log = createLogger("test", "silent");
const neverAborted = new AbortController().signal;

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

const createWorker = () => new EmbeddingWorker(db.database, llm.client, log);
const embeddedChunks = async () => {
  const ref = { workspaceId: bot.workspaceId, botId: bot.id };
  const sources = await listSources(db.database, ref, { query: "", after: undefined, limit: 10 });
  return sources.map(({ embedded, chunks }) => `${embedded} of ${chunks}`);
};

/** A busy machine may exceed the search's timeout of 300 ms. */
const withLongTimeout = (client: EmbeddingClient): EmbeddingClient => ({
  embed: (request, options) => client.embed(request, { ...options, timeoutMs: 10_000 }),
});

function createSemanticSearch(client = withLongTimeout(llm.client), now = () => performance.now()) {
  const registry = new Registry();
  const semanticSearch = new SemanticSearch({
    database: db.database,
    llm: client,
    searches: createSemanticSearchCounter(registry),
    log,
    now,
  });
  const countOf = async (result: string) => {
    const { values } = (await registry.getSingleMetric("parley_knowledge_semantic_searches_total")?.get()) ?? {
      values: [],
    };
    return values.find(({ labels }) => labels.result === result)?.value;
  };
  return { semanticSearch, countOf };
}

test("embeds nothing while the database has no pgvector, and everything once the extension is created", async () => {
  await addDocument(db.database, bot, "handbook.md", HANDBOOK);
  const worker = createWorker();
  await worker.run(neverAborted);
  expect(worker.status).toEqual({ state: "no_pgvector", model: "test:words" });
  expect(llm.calls).toEqual([]);
  expect((await readKnowledge(db.database, bot)).hasEmbeddings).toBe(false);
  await db.runAsSuperuser("CREATE EXTENSION vector");
  await worker.run(neverAborted);
  expect(worker.status).toEqual({ state: "on", model: "test:words" });
  expect(await embeddedChunks()).toEqual(["3 of 3"]);
  expect(await worker.countUnembedded()).toBe(0);
});

describe("with pgvector", () => {
  beforeAll(() => db.runAsSuperuser("CREATE EXTENSION IF NOT EXISTS vector"));

  test("embeds nothing if no model is configured", async () => {
    llm.model = undefined;
    await addDocument(db.database, bot, "handbook.md", HANDBOOK);
    const worker = createWorker();
    await worker.run(neverAborted);
    expect(worker.status).toEqual({ state: "off", model: "" });
    expect(await embeddedChunks()).toEqual(["0 of 3"]);
  });

  test("keeps the stored batches after a failure, and another process embeds only the remaining chunks", async () => {
    await addDocument(db.database, bot, "long.md", LONG);
    llm.beforeResponse = () => {
      if (llm.calls.length === 2) throw new Error("the provider fails");
    };
    const first = createWorker();
    await expect(first.run(neverAborted)).rejects.toThrow();
    expect(await embeddedChunks()).toEqual(["32 of 80"]);
    expect(await first.countUnembedded()).toBe(48);
    // The source of the failed batch stays leased until the lease expires.
    expect(await claimSource(db.database, "test:words")).toBeUndefined();
    await db.database.query("UPDATE conversation.knowledge_sources SET embedding_until = now() - interval '1 second'");
    llm.calls.length = 0;
    llm.beforeResponse = () => undefined;
    await createWorker().run(neverAborted);
    expect(await embeddedChunks()).toEqual(["80 of 80"]);
    expect(llm.calls.flat()).toHaveLength(48);
    await createWorker().run(neverAborted);
    expect(llm.calls.flat()).toHaveLength(48);
  });

  test("embeds the new chunks of a source that is replaced while it is embedded, and keeps no old embedding", async () => {
    await addDocument(db.database, bot, "long.md", LONG);
    llm.beforeResponse = async () => {
      if (llm.calls.length === 2) await addDocument(db.database, bot, "long.md", HANDBOOK);
    };
    await createWorker().run(neverAborted);
    expect(await embeddedChunks()).toEqual(["3 of 3"]);
    const { rows } = await db.database.query("SELECT count(*) AS count FROM conversation.knowledge_embeddings");
    expect(rows).toEqual([{ count: 3 }]);
  });

  test("replaces all embeddings when the model changes", async () => {
    await addDocument(db.database, bot, "handbook.md", HANDBOOK);
    const worker = createWorker();
    await worker.run(neverAborted);
    llm.model = "test:other";
    await worker.run(neverAborted);
    const { rows } = await db.database.query("SELECT DISTINCT model FROM conversation.knowledge_embeddings");
    expect(rows).toEqual([{ model: "test:other" }]);
    expect(await embeddedChunks()).toEqual(["3 of 3"]);
  });

  test("reuses stored embeddings when the model changes and changes back", async () => {
    await addDocument(db.database, bot, "handbook.md", HANDBOOK);
    await createWorker().run(neverAborted);
    const other = await claimSource(db.database, "test:other");
    if (other === undefined) throw new Error("the source was not claimed for the other model");
    await releaseSource(db.database, other, 0);
    expect(await embeddedChunks()).toEqual(["0 of 3"]);
    const callsBefore = llm.calls.length;
    await createWorker().run(neverAborted);
    expect(await embeddedChunks()).toEqual(["3 of 3"]);
    expect(llm.calls.length).toBe(callsBefore);
  });

  test("leases a source to one process at a time", async () => {
    await addDocument(db.database, bot, "one.md", HANDBOOK);
    await addDocument(db.database, bot, "two.md", HANDBOOK);
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
    expect(await claimSource(db.database, "test:words")).toEqual({ ...first, leasedUntil: expect.any(String) });
  });

  test("a process whose expired lease has been taken over stores nothing and does not release the new lease", async () => {
    await addDocument(db.database, bot, "one.md", HANDBOOK);
    const expired = await claimSource(db.database, "test:words");
    await db.database.query("UPDATE conversation.knowledge_sources SET embedding_until = now() - interval '1 second'");
    const holder = await claimSource(db.database, "test:words");
    if (expired === undefined || holder === undefined) throw new Error("the source was not claimed twice");
    expect(await storeEmbeddings(db.database, expired, "test:words", [])).toBeUndefined();
    await releaseSource(db.database, expired, 0);
    expect(await claimSource(db.database, "test:words")).toBeUndefined();
    const renewed = await storeEmbeddings(db.database, holder, "test:words", []);
    if (renewed === undefined) throw new Error("the holder could not store");
    await releaseSource(db.database, renewed, 0);
    expect(await claimSource(db.database, "test:words")).toMatchObject({ sourceId: holder.sourceId });
  });

  test("hybrid search finds passages that share only the message's meaning, and passages that share its words", async () => {
    await addDocument(db.database, bot, "handbook.md", HANDBOOK);
    await createWorker().run(neverAborted);
    const knowledge = await readKnowledge(db.database, bot);
    const { semanticSearch, countOf } = createSemanticSearch();
    const ask = async (message: string) =>
      (await searchHybrid(db.database, semanticSearch, knowledge, message)).passages.map(({ heading }) => heading);
    expect((await searchByWords(db.database, knowledge, "any refund for a dog?")).passages).toEqual([]);
    expect((await ask("may I bring my dog")).at(0)).toBe("Rules");
    expect((await ask("how to get a refund")).at(0)).toBe("Money");
    expect((await ask("when does the shop open on weekdays")).at(0)).toBe("Hours");
    expect(await countOf("ok")).toBe(3);
  });

  test("hybrid search returns a passage's score in each search that found it, and its fused score", async () => {
    await addDocument(db.database, bot, "handbook.md", HANDBOOK);
    await createWorker().run(neverAborted);
    const knowledge = await readKnowledge(db.database, bot);
    const { semanticSearch } = createSemanticSearch();
    const found = await searchHybrid(db.database, semanticSearch, knowledge, "when does the shop open on weekdays");
    expect(found.semanticResult).toBe("ok");
    const [first, ...others] = found.passages;
    // Each search ranks this passage first and adds 1 / 61 to the score. Only the semantic search found the other passages, in second and third
    // place.
    expect(first).toMatchObject({ heading: "Hours", wordRank: expect.any(Number), score: 2 / 61 });
    for (const [index, { wordRank, similarity = 2, score }] of others.entries()) {
      expect(wordRank).toBeUndefined();
      expect(similarity).toBeLessThanOrEqual(first?.similarity ?? -1);
      expect(score).toBe(1 / (62 + index));
    }
    expect(first?.similarity).toBeGreaterThan(0);
    expect(first?.similarity).toBeLessThanOrEqual(1);
    expect(others).toHaveLength(2);
  });

  test("semantic search finds no passage of another bot of the same workspace, or of a bot of another workspace", async () => {
    const neighbour = await createBot(db.database, { workspaceId: bot.workspaceId });
    const stranger = await createBot(db.database);
    await addDocument(db.database, neighbour, "a.md", "# Secret\nDogs are welcome.");
    await addDocument(db.database, stranger, "b.md", "# Foreign\nDogs are welcome.");
    await addDocument(db.database, bot, "c.md", "# Own\nThe weather is fine.");
    await createWorker().run(neverAborted);
    const { semanticSearch } = createSemanticSearch();
    const found = await semanticSearch.search(await readKnowledge(db.database, bot), "puppy");
    expect(found.passages.map(({ heading }) => heading)).toEqual(["Own"]);
  });

  test("hybrid search returns the word search's passages when embedding fails or is slow, and three failures pause the semantic search", async () => {
    await addDocument(db.database, bot, "handbook.md", HANDBOOK);
    await createWorker().run(neverAborted);
    const knowledge = await readKnowledge(db.database, bot);
    let nowMs = 0;
    const { semanticSearch, countOf } = createSemanticSearch(llm.client, () => nowMs);
    const ask = () => searchHybrid(db.database, semanticSearch, knowledge, "when does the shop open");
    const byWords = (await searchByWords(db.database, knowledge, "when does the shop open")).passages;
    const callsBefore = llm.calls.length;

    const late = Promise.withResolvers<void>();
    llm.beforeResponse = () => late.promise;
    const startedAt = performance.now();
    expect((await ask()).passages).toMatchObject(byWords);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    late.resolve();
    llm.beforeResponse = () => {
      throw new Error("the provider fails");
    };
    expect((await ask()).passages).toMatchObject(byWords);
    expect((await ask()).passages).toMatchObject(byWords);
    expect([await countOf("timeout"), await countOf("failed")]).toEqual([1, 2]);

    expect((await ask()).passages).toMatchObject(byWords);
    expect(await countOf("paused")).toBe(1);
    expect(llm.calls.length - callsBefore).toBe(3);

    nowMs += 10_000;
    llm.beforeResponse = () => undefined;
    expect((await ask()).passages.length).toBeGreaterThan(byWords.length);
    expect(await countOf("ok")).toBe(1);
  });

  test("hybrid search reports the semantic search as off, and never as paused, while llm-proxy has no embedding model", async () => {
    await addDocument(db.database, bot, "handbook.md", HANDBOOK);
    await createWorker().run(neverAborted);
    const knowledge = await readKnowledge(db.database, bot);
    const { semanticSearch, countOf } = createSemanticSearch({
      embed: () =>
        Promise.reject(new RpcError(status.FAILED_PRECONDITION, "embeddings_not_configured", "no embedding model")),
    });
    for (let message = 0; message < 5; message++)
      expect((await searchHybrid(db.database, semanticSearch, knowledge, "a puppy")).semanticResult).toBe("off");
    expect([await countOf("off"), await countOf("paused")]).toEqual([5, 0]);
  });
});
