import { Code } from "@connectrpc/connect";
import { AnswerAdminService, KnowledgeAdminService, QuestionAdminService } from "@parley/rpc/conversation";
import { createLogger, Registry } from "@parley/service-kit";
import { HANDBOOK } from "@parley/test-support";
import { describe, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { SemanticSearch } from "../knowledge/index.ts";
import { createSemanticSearchCounter } from "../metrics.ts";
import { rateMessage } from "../sessions/messages.store.ts";
import { addDocument } from "../testing/knowledge.ts";
import { startTestLlm } from "../testing/llm.ts";
import { adminFailure, useTestSystem } from "../testing/system.ts";
import { botFields, createBot, newOpenRequest, newTurn, runTurn } from "../testing/turns.ts";
import type { NewTurn } from "../turns/open-turn.store.ts";
import { QuestionSearch } from "./question-search.service.ts";

const system = useTestSystem();
const questions = () => system.createAdminClient(QuestionAdminService);
const check = (bot: Bot, question: string) => questions().checkQuestion({ ...botFields(bot), question });
const list = async (bot: Bot, fields: object = {}) => questions().listUnanswered({ ...botFields(bot), ...fields });

describe("checking a question", () => {
  test("finds the passages that a turn with the same question uses, in the same order, and stores no turn", async () => {
    const bot = await createBot(system.database);
    await addDocument(system.database, bot, "handbook.md", HANDBOOK);
    const question = "Are dogs welcome when the shop is open, and who is reimbursed?";
    const { passages, grounded, semanticSearch } = await check(bot, question);
    expect(grounded).toBe(true);
    expect(semanticSearch).toBe("");
    expect(passages.length).toBeGreaterThan(1);
    for (const { document, text, wordRank, similarity, used } of passages) {
      expect(document).toBe("handbook.md");
      expect(text).not.toBe("");
      expect(wordRank).toBeGreaterThan(0);
      expect(similarity).toBeUndefined();
      expect(used).toBe(true);
    }
    const scores = passages.map(({ score }) => score);
    expect(scores).toEqual(scores.toSorted((one, other) => other - one));
    expect(scores[0]).toBeCloseTo(1 / 61);

    const countTurns = async () =>
      (await system.admin.query("SELECT FROM conversation.turns WHERE bot_id = $1", [bot.id])).rowCount;
    expect(await countTurns()).toBe(0);
    await system.conversation.openTurn(newOpenRequest(bot, { message: question }), { timeoutMs: 5_000 });
    const { rows } = await system.admin.query(
      `SELECT c.content FROM conversation.messages m, unnest(m.rag_chunks_used) WITH ORDINALITY AS used (id, place)
       JOIN conversation.knowledge_chunks c ON c.chunk_id = used.id
       WHERE m.workspace_id = $1 AND m.role = 'assistant' ORDER BY place`,
      [bot.workspaceId],
    );
    expect(rows.map(({ content }) => content)).toEqual(passages.map(({ text }) => text));
  });

  test("finds a document immediately after it was added, and stops finding it when it is removed", async () => {
    const bot = await createBot(system.database);
    const knowledge = system.createAdminClient(KnowledgeAdminService);
    expect(await check(bot, "Where is the office?")).toMatchObject({ passages: [], grounded: false });
    const content = Buffer.from("The office is in Lisbon.");
    await knowledge.addSource({ ...botFields(bot), name: "office.txt", format: "txt", content });
    expect(await check(bot, "Where is the office?")).toMatchObject({
      passages: [{ document: "office.txt" }],
      grounded: true,
    });
    await knowledge.removeSource({ ...botFields(bot), name: "office.txt" });
    expect((await check(bot, "Where is the office?")).grounded).toBe(false);
  });

  test("marks the passages for which a prompt has no room", async () => {
    const bot = await createBot(system.database);
    const long = Array.from({ length: 12 }, (_, n) => `# Part ${n}\n\nRefunds ${"take some time ".repeat(90)}${n}.`);
    await addDocument(system.database, bot, "long.md", long.join("\n\n"));
    const used = (await check(bot, "refunds")).passages.map((passage) => passage.used);
    expect(used).toHaveLength(12);
    expect(used.indexOf(false)).toBeGreaterThan(5);
    expect(used.lastIndexOf(true)).toBe(used.indexOf(false) - 1);
  });

  test("is refused if the question is empty, too long or has a NUL character, or if the bot is unknown", async () => {
    const bot = await createBot(system.database);
    for (const question of ["", "  ", "x".repeat(501), "a\0b"])
      expect(await adminFailure(check(bot, question))).toMatchObject({ code: Code.InvalidArgument });
    expect(await adminFailure(check({ ...bot, slug: "unknown" }, "Where?"))).toMatchObject({
      parleyCode: "bot_not_found",
    });
  });

  test("is refused when the workspace has used up its search time, while another workspace can still search", async () => {
    const llm = await startTestLlm();
    try {
      const searches = createSemanticSearchCounter(new Registry());
      const log = createLogger("test", "silent");
      const deps = { database: system.database, llm: llm.client, searches, log, now: () => performance.now() };
      const search = new QuestionSearch(system.database, new SemanticSearch(deps), { share: 0.001, burstMs: 0.1 });
      const [bot, other] = [await createBot(system.database), await createBot(system.database)];
      await addDocument(system.database, bot, "handbook.md", HANDBOOK);
      const knowledge = await search.readKnowledge(bot.workspaceId, bot.id);
      search.requireSearchTimeLeft(bot.workspaceId);
      expect((await search.search(knowledge, "When is the shop open?")).usedPassages.length).toBeGreaterThan(0);
      expect(() => search.requireSearchTimeLeft(bot.workspaceId)).toThrow(/try again in \d+ s/);
      expect(() => search.requireSearchTimeLeft(other.workspaceId)).not.toThrow();
    } finally {
      llm.close();
    }
  });
});

describe("unanswered questions", () => {
  type AskedFields = Partial<NewTurn> & {
    rating?: string;
    daysAgo?: number;
    toolsCalled?: string;
    isDeclined?: boolean;
  };

  /** Creates a bot with knowledge. Returns the bot, and `ask`, which runs a turn and returns the turn. */
  async function createBotToAsk() {
    const bot = await createBot(system.database);
    await addDocument(system.database, bot, "handbook.md", HANDBOOK);
    const ask = async (message: string, fields: AskedFields = {}) => {
      const { rating = "", daysAgo = 0, toolsCalled = "[]", isDeclined = false, ...turn } = fields;
      const asked = newTurn(bot, { message, ...turn });
      const messageId = String(await runTurn(system.database, asked, { finishDetail: isDeclined ? "declined" : "" }));
      const { workspaceId, sessionId, turnId } = asked;
      await system.admin.query(
        `UPDATE conversation.turns SET opened_at = opened_at - $2::interval, closed_at = closed_at - $2::interval WHERE turn_id = $1`,
        [turnId, `${daysAgo} days`],
      );
      await system.admin.query(
        `UPDATE conversation.messages SET created_at = created_at - $2::interval, closed_at = closed_at - $2::interval,
           tools_called = CASE role WHEN 'assistant' THEN $3::jsonb ELSE tools_called END WHERE turn_id = $1`,
        [turnId, `${daysAgo} days`, toolsCalled],
      );
      if (rating !== "")
        await rateMessage(system.database, { workspaceId, botId: asked.botId, sessionId, messageId, rating });
      return asked;
    };
    return { bot, ask };
  }

  test("are grouped by the stems of their words, the largest group first, with the latest question's session", async () => {
    const { bot, ask } = await createBotToAsk();
    await ask("Do you ship to Norway?", { daysAgo: 2 });
    await ask("Is it possible to ship parcels to Norway?", { daysAgo: 1 });
    await ask("ship to NORWAY!!", { daysAgo: 3 });
    const latest = await ask("Norway shipping?");
    const parking = await ask("Where can I park?");
    const { questions, groups, repliesRead, partial, hasKnowledge } = await list(bot);
    expect(questions).toMatchObject([
      { example: "Norway shipping?", sessionId: latest.sessionId, count: 3, ungrounded: 3, ratedDown: 0 },
      { example: "Where can I park?", sessionId: parking.sessionId, count: 1 },
      { example: "Is it possible to ship parcels to Norway?", count: 1 },
    ]);
    expect({ groups, repliesRead, partial, hasKnowledge }).toEqual({
      groups: 3,
      repliesRead: 5,
      partial: false,
      hasKnowledge: true,
    });
    expect(Math.abs(Date.parse(questions[0]?.lastAt ?? "") - Date.now())).toBeLessThan(60_000);
    expect((await list(bot, { days: 1 })).repliesRead).toBe(2);
  });

  test("include questions whose reply had a passage but was rated down, and count each reply once", async () => {
    const { bot, ask } = await createBotToAsk();
    await ask("What do you charge for gift wrapping?", { rating: "down", chunkIds: [1] });
    await ask("Do you sell gift cards?", { rating: "down" });
    await ask("Are dogs allowed?", { rating: "up", chunkIds: [1] });
    const { questions, repliesRead } = await list(bot);
    expect(repliesRead).toBe(2);
    expect(
      questions.map(({ example, count, ungrounded, ratedDown }) => [example, count, ungrounded, ratedDown]),
    ).toEqual(
      expect.arrayContaining([
        ["What do you charge for gift wrapping?", 1, 0, 1],
        ["Do you sell gift cards?", 1, 1, 1],
      ]),
    );
  });

  test("include questions to which the model said that it has no answer, with and without passages and tools, and count each reply once", async () => {
    const { bot, ask } = await createBotToAsk();
    const isDeclined = true;
    await ask("Is the entrance step-free?", { isDeclined, chunkIds: [1] });
    await ask("Do you sell bicycles?", { isDeclined, rating: "down" });
    await ask("Where is my parcel?", { isDeclined, toolsCalled: '[{"name":"look_up_order","status":"ok"}]' });
    await ask("Are dogs allowed?", { chunkIds: [1] });
    const { questions, repliesRead } = await list(bot);
    expect(repliesRead).toBe(3);
    expect(
      questions
        .map(({ example, count, ungrounded, declined, ratedDown }) => [example, count, ungrounded, declined, ratedDown])
        .sort(),
    ).toEqual([
      ["Do you sell bicycles?", 1, 1, 1, 1],
      ["Is the entrance step-free?", 1, 0, 1, 0],
      ["Where is my parcel?", 1, 0, 1, 0],
    ]);
  });

  test("leave out greetings, questions whose reply called a tool, the playground, other bots, and deleted and erased sessions", async () => {
    const { bot, ask } = await createBotToAsk();
    await ask("Hello, please help me?");
    for (const message of ["Guten Morgen!", "Merci beaucoup", "ok", "Are you a human?", "asdfgh", "???"]) {
      await ask(message);
      await ask(message, { isDeclined: true, chunkIds: [1] });
    }
    await ask("Where is my order?", { toolsCalled: '[{"name":"look_up_order","status":"ok"}]' });
    await ask("Is this the playground?", { source: "playground" });
    const other = await createBot(system.database, { workspaceId: bot.workspaceId });
    await ask("What does the other bot cost?", { botId: other.id, rating: "down" });
    for (const column of ["deleted_at", "erased_at"]) {
      const { sessionId } = await ask("Which session is gone?", { rating: "down" });
      await system.admin.query(`UPDATE conversation.sessions SET ${column} = now() WHERE session_id = $1`, [sessionId]);
    }
    expect((await list(bot)).questions).toEqual([]);
    expect((await list(other)).questions).toMatchObject([
      { example: "What does the other bot cost?", ungrounded: 0, ratedDown: 1 },
    ]);
  });

  test("of a bot without knowledge are the questions whose reply was rated down", async () => {
    const bot = await createBot(system.database);
    const rated = newTurn(bot, { message: "Do you deliver?" });
    const messageId = String(await runTurn(system.database, rated));
    await runTurn(system.database, newTurn(bot, { message: "Do you open on Sundays?" }));
    const { workspaceId, botId, sessionId } = rated;
    await rateMessage(system.database, { workspaceId, botId, sessionId, messageId, rating: "down" });
    const { questions, hasKnowledge } = await list(bot);
    expect(hasKnowledge).toBe(false);
    expect(questions).toMatchObject([{ example: "Do you deliver?", ungrounded: 0, ratedDown: 1 }]);
  });

  test("are stemmed in the language in which they have the fewest words besides stop words, if the bot's documents have several languages", async () => {
    const { bot, ask } = await createBotToAsk();
    await addDocument(system.database, bot, "handbuch.md", "# Preise\n\nDer Preis steht an der Kasse.", "german");
    await ask("Was ist mit der Lieferung nach Norwegen?");
    await ask("Lieferungen nach Norwegen?");
    await ask("Do you have the tickets for the museum?");
    await ask("tickets for a museum");
    expect((await list(bot)).questions.map(({ example, count }) => [example, count])).toEqual([
      ["tickets for a museum", 2],
      ["Lieferungen nach Norwegen?", 2],
    ]);
  });

  test("name a document that was added since and has all their words, and come after the others", async () => {
    const { bot, ask } = await createBotToAsk();
    for (let n = 0; n < 2; n++) await ask("Where can I park my 'car'?");
    await ask("Do you sell bicycles?");
    await ask("Do you sell bicycle pumps?");
    const answers = async () => (await list(bot)).questions.map(({ example, answeredBy }) => [example, answeredBy]);
    expect((await answers())[0]).toEqual(["Where can I park my 'car'?", ""]);
    await addDocument(system.database, bot, "parking.md", "# Where to park your car\n\nBehind the shop.");
    const other = await createBot(system.database, { workspaceId: bot.workspaceId });
    await addDocument(system.database, other, "bicycles.md", "# Bicycles\n\nWe sell bicycles and pumps.");
    expect(await answers()).toEqual([
      ["Do you sell bicycle pumps?", ""],
      ["Do you sell bicycles?", ""],
      ["Where can I park my 'car'?", "parking.md"],
    ]);
    // The answer did not help this visitor.
    await ask("Where can I park my 'car'?", { rating: "down" });
    expect((await answers())[0]).toEqual(["Where can I park my 'car'?", ""]);
  });

  test("name an owner's answer that was added or changed since and is given to them, and come after the others", async () => {
    const { bot, ask } = await createBotToAsk();
    const parking = "Where can I park my car?";
    for (let n = 0; n < 2; n++) await ask(parking);
    await ask("Do you sell bicycles?");
    const answers = system.createAdminClient(AnswerAdminService);
    const state = async () =>
      (await list(bot)).questions.map(({ example, answeredBy, answeredByAnswer }) => [
        example,
        answeredBy,
        answeredByAnswer,
      ]);
    const { answer } = await answers.addAnswer({
      ...botFields(bot),
      questions: ["where can I park my car"],
      answer: "Behind the shop.",
    });
    await addDocument(system.database, bot, "parking.md", "# Where to park your car\n\nBehind the shop.");
    const fixed = [
      ["Do you sell bicycles?", "", 0n],
      [parking, "", answer?.id],
    ];
    expect(await state()).toEqual(fixed);
    // The answer did not help this visitor, and a document does not replace it.
    await ask(parking, { rating: "down" });
    await addDocument(system.database, bot, "parking.md", "# Where to park your car\n\nBehind the garage.");
    expect((await state())[0]).toEqual([parking, "", 0n]);
    await answers.updateAnswer({ ...botFields(bot), id: answer?.id ?? 0n, answer: "Behind the garage." });
    expect(await state()).toEqual(fixed);
  });

  test("are 50 open and 50 answered groups at most, so that answered ones do not displace open ones", async () => {
    const { bot, ask } = await createBotToAsk();
    const answers = system.createAdminClient(AnswerAdminService);
    const words = Array.from({ length: 111 }, (_, n) => `product${n}`);
    for (const word of words.slice(0, 60)) await ask(`Do you have ${word}?`);
    // These are more frequent.
    for (const word of words.slice(60)) for (let n = 0; n < 2; n++) await ask(`Do you have ${word}?`);
    for (let start = 60; start < words.length; start += 20)
      await answers.addAnswer({
        ...botFields(bot),
        questions: words.slice(start, start + 20).map((word) => `Do you have ${word}?`),
        answer: "Yes.",
      });
    const { questions, groups } = await list(bot);
    expect(groups).toBe(111);
    expect(questions.map(({ answeredByAnswer }) => answeredByAnswer !== 0n)).toEqual([
      ...Array(50).fill(false),
      ...Array(50).fill(true),
    ]);
  });

  test("have the latest question as the example, even if the replies finished within the same millisecond", async () => {
    const { bot, ask } = await createBotToAsk();
    const asked = [];
    for (let n = 0; n < 12; n++) asked.push(await ask(`Parking${"?".repeat(n + 1)}`));
    for (const [microseconds, { turnId }] of asked.entries())
      await system.admin.query(
        "UPDATE conversation.turns SET closed_at = date_trunc('second', opened_at) + make_interval(secs => $2 / 1e6) WHERE turn_id = $1",
        [turnId, microseconds],
      );
    expect((await list(bot)).questions).toMatchObject([
      { example: `Parking${"?".repeat(12)}`, sessionId: asked.at(-1)?.sessionId, count: 12 },
    ]);
  });

  test("are read from the latest 1,000 replies, and `partial` reports that there are more", async () => {
    const { bot, ask } = await createBotToAsk();
    const latest = await ask("Where is the latest?");
    const copy = (table: string, columns: string, closedAtSql: string) =>
      system.admin.query(
        `INSERT INTO conversation.${table} (${columns})
         SELECT ${columns.replace("message_id", "message_id + 2 * n").replace("turn_id", "gen_random_uuid()").replace("closed_at", closedAtSql)}
         FROM conversation.${table}, generate_series(1, 1000) n WHERE turn_id = $1`,
        [latest.turnId],
      );
    await copy(
      "turns",
      "workspace_id, turn_id, session_id, message_id, bot_id, edge_id, status, month, asked_model, model, grounded, opened_at, closed_at",
      "closed_at - n * interval '1 minute'",
    );
    await copy(
      "messages",
      "workspace_id, session_id, message_id, turn_id, role, content, status, created_at, closed_at",
      "closed_at",
    );
    const { questions, repliesRead, partial } = await list(bot);
    expect({ repliesRead, partial }).toEqual({ repliesRead: 1_000, partial: true });
    expect(questions).toMatchObject([{ count: 1_000 }]);

    // At most 500 replies that were rated down are read.
    await system.admin.query(
      "UPDATE conversation.messages SET rating = 'down' WHERE workspace_id = $1 AND role = 'assistant'",
      [bot.workspaceId],
    );
    await system.admin.query("UPDATE conversation.turns SET grounded = true WHERE workspace_id = $1", [
      bot.workspaceId,
    ]);
    expect(await list(bot)).toMatchObject({ repliesRead: 500, partial: true });
  });

  test("cannot be listed with `days` below 0 or above 90", async () => {
    const bot = await createBot(system.database);
    for (const days of [-1, 91])
      expect(await adminFailure(list(bot, { days }))).toMatchObject({ code: Code.InvalidArgument });
  });
});
