import { fromBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { AnswerAdminService, BotAdminService } from "@parley/rpc/conversation";
import { PromptSchema } from "@parley/rpc/llm";
import { describe, expect, test } from "vitest";
import { addDocument } from "../testing/knowledge.ts";
import { adminFailure, countResultsOfConcurrentInserts, useTestSystem } from "../testing/system.ts";
import { botFields, createBot, newOpenRequest } from "../testing/turns.ts";

const system = useTestSystem();
const ORDER = { questions: ["Where is my order?", "Track my order"], answer: "See **My orders**." };

describe("answers of an owner", () => {
  test("are validated, listed in the order of their addition, and changed and removed only through their own bot", async () => {
    const answers = system.createAdminClient(AnswerAdminService);
    const [bot, other] = [await createBot(system.database), await createBot(system.database)];
    const { answer: first } = await answers.addAnswer({ ...botFields(bot), ...ORDER });
    await answers.addAnswer({ ...botFields(bot), questions: [" a ", "a", "b"], answer: "x" });
    const list = async () => (await answers.listAnswers(botFields(bot))).answers;
    expect(await list()).toMatchObject([ORDER, { questions: ["a", "b"], answer: "x" }]);
    for (const bad of [
      { questions: [] },
      { questions: ["?!"] },
      { questions: [" "] },
      { questions: ["x".repeat(301)] },
      { questions: Array.from({ length: 21 }, (_, n) => `q${n}`) },
      { answer: " " },
      { answer: "x".repeat(4_001) },
      { answer: "a\0" },
    ])
      expect(
        await adminFailure(answers.addAnswer({ ...botFields(bot), ...ORDER, ...bad })),
        JSON.stringify(bad),
      ).toMatchObject({ code: Code.InvalidArgument });
    const id = first?.id ?? 0n;
    const notFound = { parleyCode: "answer_not_found" };
    expect(await adminFailure(answers.updateAnswer({ ...botFields(other), id, answer: "y" }))).toMatchObject(notFound);
    expect(await adminFailure(answers.removeAnswer({ ...botFields(other), id }))).toMatchObject(notFound);
    await answers.updateAnswer({ ...botFields(bot), id, answer: "y" });
    expect(await list()).toMatchObject([{ questions: ORDER.questions, answer: "y" }, {}]);
    await answers.updateAnswer({ ...botFields(bot), id, questions: ["c"] });
    expect(await list()).toMatchObject([{ questions: ["c"], answer: "y" }, {}]);
    await answers.removeAnswer({ ...botFields(bot), id });
    expect(await list()).toHaveLength(1);
    expect(await adminFailure(answers.removeAnswer({ ...botFields(bot), id }))).toMatchObject(notFound);
  });

  test("are limited to 200 a bot, also by concurrent calls", async () => {
    const answers = system.createAdminClient(AnswerAdminService);
    const bot = botFields(await createBot(system.database));
    await system.admin.query(
      `INSERT INTO conversation.answers (workspace_id, bot_id, questions, answer)
       SELECT b.workspace_id, b.bot_id, '{q}', 'a' FROM conversation.bots b, generate_series(1, 199)
       WHERE b.workspace_id = $1`,
      [bot.workspaceId],
    );
    const add = () => answers.addAnswer({ ...bot, ...ORDER });
    expect(await countResultsOfConcurrentInserts(system.admin, "conversation.answers", add)).toEqual({
      ok: 1,
      too_many_answers: 19,
    });
  });

  test("are given to messages that ask their questions, without a search", async () => {
    const answers = system.createAdminClient(AnswerAdminService);
    const bot = await createBot(system.database);
    await addDocument(system.database, bot, "a.md", "Your order is in the post.");
    await answers.addAnswer({ ...botFields(bot), ...ORDER });
    const open = async (message: string) => {
      const turn = newOpenRequest(bot, { message });
      const { model, prompt } = await system.conversation.openTurn(turn, { timeoutMs: 5_000 });
      const { answer, passages } = fromBinary(PromptSchema, prompt);
      const repeated = await system.conversation.openTurn(turn, { timeoutMs: 5_000 });
      expect({ model: repeated.model, answer: fromBinary(PromptSchema, repeated.prompt).answer }).toEqual({
        model,
        answer,
      });
      const { rows } = await system.admin.query("SELECT grounded FROM conversation.turns WHERE turn_id = $1", [
        turn.turnId,
      ]);
      return { model, answer, passages: passages.length, grounded: rows[0].grounded };
    };
    const given = { model: "builtin:curated", answer: ORDER.answer, passages: 0, grounded: true };
    expect(await open("WHERE IS MY ORDER")).toEqual(given);
    expect(await open("track my order!")).toEqual(given);
    expect(await open("Is my order in the post?")).toEqual({
      model: bot.model,
      answer: "",
      passages: 1,
      grounded: true,
    });
    expect(await answers.checkMessage({ ...botFields(bot), message: "where is my order" })).toMatchObject({
      answer: ORDER,
      question: "Where is my order?",
      similarity: 1,
      given: true,
    });
    expect(await answers.checkMessage({ ...botFields(bot), message: "banana" })).toMatchObject({ given: false });
  });

  test("are copied with a bot, and deleted with it", async () => {
    const answers = system.createAdminClient(AnswerAdminService);
    const bots = system.createAdminClient(BotAdminService);
    const bot = await createBot(system.database);
    await answers.addAnswer({ ...botFields(bot), ...ORDER });
    const copy = { workspaceId: bot.workspaceId, botSlug: "copy" };
    await bots.duplicateBot({ workspaceId: bot.workspaceId, slug: bot.slug, newSlug: copy.botSlug });
    expect((await answers.listAnswers(copy)).answers).toMatchObject([ORDER]);
    await bots.deleteBot({ workspaceId: bot.workspaceId, slug: copy.botSlug });
    const count = "SELECT count(*)::integer AS n FROM conversation.answers WHERE workspace_id = $1";
    expect((await system.admin.query(count, [bot.workspaceId])).rows).toEqual([{ n: 1 }]);
  });
});
