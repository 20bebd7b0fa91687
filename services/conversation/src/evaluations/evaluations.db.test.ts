import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { Code, type HandlerContext } from "@connectrpc/connect";
import { AnswerAdminService, EvaluationAdminService, RunEvaluationRequestSchema } from "@parley/rpc/conversation";
import { FairQueue } from "@parley/service-kit";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { addDocument } from "../testing/knowledge.ts";
import { adminFailure, countResultsOfConcurrentInserts, useTestSystem } from "../testing/system.ts";
import { botFields, createBot } from "../testing/turns.ts";
import { createEvaluationAdmin } from "./evaluations.admin.ts";
import { runEvaluation } from "./run-evaluation.service.ts";

const system = useTestSystem();
const evaluations = () => system.createAdminClient(EvaluationAdminService);
const addCase = async (bot: Bot, question: string, document: string) =>
  (await evaluations().addCase({ ...botFields(bot), question, document })).case;
const addText = (bot: Bot, name: string, text: string) => addDocument(system.database, bot, name, text);

async function createBotWithDocuments() {
  const bot = await createBot(system.database);
  await addText(bot, "delivery.txt", "We deliver bread every morning before seven.");
  await addText(bot, "prices.txt", "A loaf costs four euros.");
  return bot;
}

test("a run returns the rank of each expected document, and a later run finds a document that was changed since", async () => {
  const bot = await createBotWithDocuments();
  const delivery = await addCase(bot, " When do you deliver? ", "delivery.txt");
  const parking = await addCase(bot, "Where is the parking lot?", "prices.txt");
  expect(delivery).toMatchObject({ question: "When do you deliver?", document: "delivery.txt" });

  const { run: before } = await evaluations().runEvaluation(botFields(bot));
  expect(before).toMatchObject({ cases: 2, searched: 2, found: 1, documents: 2, semanticFailures: 0 });
  expect(before?.results).toMatchObject([
    { caseId: delivery?.id, rank: 1 },
    { caseId: parking?.id, rank: 0 },
  ]);

  await addText(bot, "parking.txt", "The parking lot is behind the parking garage. Parking is free.");
  await addText(bot, "prices.txt", "A loaf costs four euros. A day in the parking lot costs two.");
  const { run: after } = await evaluations().runEvaluation(botFields(bot));
  expect(after).toMatchObject({ searched: 2, found: 2, documents: 3 });
  expect(after?.results[1]?.rank).toBeGreaterThan(0);

  const { cases, runs } = await evaluations().getEvaluation(botFields(bot));
  expect(cases).toMatchObject([delivery, parking]);
  expect(runs.map(({ id, found }) => [id, found])).toEqual([
    [after?.id, 2],
    [before?.id, 1],
  ]);
  expect(runs[0]?.results).toEqual(after?.results);
  expect(runs[1]?.results).toEqual(before?.results);
});

test("a question that an owner's answer answers is found without a search, also if no document is expected for it", async () => {
  const bot = await createBotWithDocuments();
  const order = await addCase(bot, "Where is my order?", "");
  const price = await addCase(bot, "Do you sell bicycles?", "delivery.txt");
  expect(order).toMatchObject({ document: "" });
  const run = async () => (await evaluations().runEvaluation(botFields(bot))).run;
  const before = await run();
  expect(before).toMatchObject({ searched: 2, found: 0 });
  expect(before?.results).toMatchObject([
    { caseId: order?.id, rank: 0, answerId: 0n },
    { caseId: price?.id, rank: 0, answerId: 0n },
  ]);
  const answers = system.createAdminClient(AnswerAdminService);
  const add = async (question: string) =>
    (await answers.addAnswer({ ...botFields(bot), questions: [question], answer: "See My orders." })).answer?.id;
  const [orderAnswer, priceAnswer] = [await add("where's my order"), await add("do you sell bicycles")];
  const after = await run();
  expect(after).toMatchObject({ searched: 2, found: 1 });
  expect(after?.results).toMatchObject([
    { caseId: order?.id, rank: 0, answerId: 0n },
    { caseId: price?.id, rank: 0, answerId: priceAnswer },
  ]);
  await answers.updateAnswer({ ...botFields(bot), id: orderAnswer ?? 0n, questions: ["where is my order"] });
  expect(await run()).toMatchObject({ searched: 2, found: 2 });
  const { runs } = await evaluations().getEvaluation(botFields(bot));
  expect(runs[0]?.results).toMatchObject([{ answerId: orderAnswer }, { answerId: priceAnswer }]);
});

test("the service keeps the last 20 runs of a bot, and GetEvaluation returns them with results only for the latest two", async () => {
  const [bot, other] = [await createBotWithDocuments(), await createBotWithDocuments()];
  for (const each of [bot, other]) await addCase(each, "When do you deliver?", "delivery.txt");
  await evaluations().runEvaluation(botFields(other));
  const ids: bigint[] = [];
  for (let index = 0; index < 22; index++)
    ids.unshift((await evaluations().runEvaluation(botFields(bot))).run?.id ?? 0n);
  const { runs } = await evaluations().getEvaluation(botFields(bot));
  expect(runs.map(({ id }) => id)).toEqual(ids.slice(0, 20));
  expect(runs.map(({ results }) => results.length)).toEqual([1, 1, ...Array(18).fill(0)]);
  expect((await evaluations().getEvaluation(botFields(other))).runs).toHaveLength(1);
  const { rows: stored } = await system.admin.query<{ id: string }>(
    "SELECT run_id AS id FROM conversation.evaluation_runs WHERE bot_id = $1 ORDER BY run_id DESC",
    [bot.id],
  );
  expect(stored.map(({ id }) => BigInt(id))).toEqual(ids.slice(0, 20));
});

test("the service refuses a case with an existing question, an unknown document or an invalid question, and a run without cases", async () => {
  const bot = await createBotWithDocuments();
  expect(await adminFailure(evaluations().runEvaluation(botFields(bot)))).toMatchObject({ parleyCode: "no_cases" });
  await addCase(bot, "When do you deliver?", "delivery.txt");
  expect(await adminFailure(addCase(bot, "When do you deliver?", "prices.txt"))).toMatchObject({
    parleyCode: "case_exists",
  });
  for (const document of [" ", "unknown.txt", "a\0b"])
    expect(await adminFailure(addCase(bot, "What?", document))).toMatchObject({ parleyCode: "source_not_found" });
  for (const question of ["", "x".repeat(501), "a\0b"])
    expect(await adminFailure(addCase(bot, question, "delivery.txt"))).toMatchObject({ code: Code.InvalidArgument });
});

test("a bot has at most 200 cases", async () => {
  const bot = await createBotWithDocuments();
  await system.admin.query(
    `INSERT INTO conversation.evaluation_cases (workspace_id, bot_id, question, document)
     SELECT $1, $2, 'Question ' || n, 'delivery.txt' FROM generate_series(1, 199) n`,
    [bot.workspaceId, bot.id],
  );
  await addCase(bot, "Question 200", "delivery.txt");
  expect(await adminFailure(addCase(bot, "Question 201", "delivery.txt"))).toMatchObject({
    parleyCode: "too_many_cases",
  });
  const { run } = await evaluations().runEvaluation(botFields(bot));
  expect(run).toMatchObject({ cases: 200, searched: 200 });
});

test("concurrent calls add no cases beyond the limit", async () => {
  const bot = await createBotWithDocuments();
  await system.admin.query(
    `INSERT INTO conversation.evaluation_cases (workspace_id, bot_id, question, document)
     SELECT $1, $2, 'Question ' || n, 'delivery.txt' FROM generate_series(1, 199) n`,
    [bot.workspaceId, bot.id],
  );
  const add = (n: number) => addCase(bot, `Concurrent question ${n}`, "delivery.txt");
  expect(await countResultsOfConcurrentInserts(system.admin, "conversation.evaluation_cases", add)).toEqual({
    ok: 1,
    too_many_cases: 19,
  });
});

test("a case can be removed only once, and only through its own bot", async () => {
  const [bot, other] = [await createBotWithDocuments(), await createBotWithDocuments()];
  const { id = 0n } = (await addCase(bot, "When do you deliver?", "delivery.txt")) ?? {};
  const remove = (each: Bot) => evaluations().removeCase({ ...botFields(each), id });
  expect(await adminFailure(remove(other))).toMatchObject({ parleyCode: "case_not_found" });
  await remove(bot);
  expect(await adminFailure(remove(bot))).toMatchObject({ parleyCode: "case_not_found" });
  expect((await evaluations().getEvaluation(botFields(bot))).cases).toEqual([]);
});

/** Returns a fake search that counts its running searches, and a function that evaluates nine cases with it. */
function createCountingSearch(onSearch: () => Promise<void> | void = () => undefined) {
  const counts = { running: 0, maxRunning: 0, started: 0 };
  const bot = { workspaceId: "ws", botId: "bot", timeZone: "UTC" };
  const search = {
    readKnowledge: async () => ({ ...bot, chunks: 1, languages: ["english"], hasEmbeddings: true }),
    search: async () => {
      counts.started++;
      counts.maxRunning = Math.max(counts.maxRunning, ++counts.running);
      await onSearch();
      counts.running--;
      return { passages: [], usedPassages: [], semanticResult: "timeout" as const };
    },
  };
  const cases = Array.from({ length: 9 }, (_, index) => ({ id: index + 1, question: "q", document: "d" }));
  const run = (options: { signal?: AbortSignal; maxRunMs?: number }) =>
    runEvaluation(search, bot, cases, { signal: new AbortController().signal, ...options });
  return { counts, run, search };
}

test("a run searches for two questions at a time, and counts failed semantic searches", async () => {
  const { counts, run } = createCountingSearch(() => new Promise((resolve) => setImmediate(resolve)));
  expect(await run({})).toMatchObject({ cases: 9, searched: 9, found: 0, semanticFailures: 9 });
  expect(counts.maxRunning).toBe(2);
});

test("a run starts no search after its time limit, and leaves the remaining cases out", async () => {
  const { counts, run } = createCountingSearch(() => sleep(60));
  const result = await run({ maxRunMs: 50 });
  expect(result).toMatchObject({ cases: 9, searched: 2 });
  expect(result.results).toHaveLength(2);
  expect(counts.started).toBe(2);
});

test("a run stops when the caller cancels", async () => {
  const controller = new AbortController();
  const { counts, run } = createCountingSearch(() => controller.abort(new Error("gone")));
  await expect(run({ signal: controller.signal })).rejects.toThrow("gone");
  expect(counts.started).toBeLessThanOrEqual(2);
});

test("runs of one workspace run one at a time, and runs of two workspaces run concurrently", async () => {
  let pause: () => Promise<void> = () => sleep(10);
  const { counts, search } = createCountingSearch(() => pause());
  const admin = createEvaluationAdmin(system.database, { ...search, requireSearchTimeLeft: () => undefined });
  const run = async (bot: Bot) => {
    const request = create(RunEvaluationRequestSchema, botFields(bot));
    const context = { signal: new AbortController().signal } as HandlerContext;
    return admin.runEvaluation(request, context);
  };
  const [bot, other] = [await createBotWithDocuments(), await createBotWithDocuments()];
  for (const each of [bot, other])
    for (const question of ["One?", "Two?", "Three?", "Four?"]) await addCase(each, question, "delivery.txt");
  await Promise.all([run(bot), run(bot), run(bot)]);
  expect(counts).toMatchObject({ started: 12, maxRunning: 2 });
  // Each search waits until both runs search at the same time.
  pause = () => vi.waitFor(() => expect(counts.maxRunning).toBe(4), { timeout: 10_000 });
  await Promise.all([run(bot), run(other)]);
});

test("a run that waited for another one leaves out the cases that were removed meanwhile", async () => {
  const bot = await createBotWithDocuments();
  const removed = await addCase(bot, "Bread?", "delivery.txt");
  await addCase(bot, "Prices?", "prices.txt");
  const gate = Promise.withResolvers<void>();
  const { counts, search } = createCountingSearch(() => gate.promise);
  const limiterRun = vi.spyOn(FairQueue.prototype, "run");
  onTestFinished(() => limiterRun.mockRestore());
  const admin = createEvaluationAdmin(system.database, { ...search, requireSearchTimeLeft: () => undefined });
  const run = async () =>
    admin.runEvaluation(create(RunEvaluationRequestSchema, botFields(bot)), {
      signal: new AbortController().signal,
    } as HandlerContext);
  const first = run();
  await vi.waitFor(() => expect(counts.started).toBe(2));
  const second = run();
  // When the second run has called the limiter, it waits for the first run.
  await vi.waitFor(() => expect(limiterRun).toHaveBeenCalledTimes(2));
  await evaluations().removeCase({ ...botFields(bot), id: removed?.id ?? 0n });
  gate.resolve();
  expect((await first).run?.cases).toBe(2);
  expect((await second).run?.cases).toBe(1);
});
