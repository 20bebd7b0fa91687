import { fromBinary } from "@bufbuild/protobuf";
import { status } from "@parley/rpc";
import { KnowledgeAdminService, ModerationAdminService, ToolAdminService, TurnOutcome } from "@parley/rpc/conversation";
import { PromptSchema } from "@parley/rpc/llm";
import { SettleOutcome } from "@parley/rpc/quota";
import { beforeAll, describe, expect, test } from "vitest";
import { insertPattern } from "../bot-rules/moderation.store.ts";
import type { Bot } from "../bots/bots.store.ts";
import { exportSession } from "../sessions/export-session.store.ts";
import { addDocument } from "../testing/knowledge.ts";
import { countClosedTurns, useTestSystem } from "../testing/system.ts";
import { botFields, createBot, newCloseRequest, newOpenRequest, type OpenRequest } from "../testing/turns.ts";

const system = useTestSystem();
let bot: Bot;
beforeAll(async () => {
  bot = await createBot(system.database);
});

const options = { timeoutMs: 5_000 };
/** The poll of the outbox skips a turn in the first 2 s after its close. In this time, only the process that closed the turn settles it. */
const BEFORE_POLL_MS = 1_900;
const open = (turn: OpenRequest) => system.conversation.openTurn(turn, options);
const close = (...args: Parameters<typeof newCloseRequest>) =>
  system.conversation.closeTurn(newCloseRequest(...args), options);
const promptOf = (bytes: Uint8Array) => fromBinary(PromptSchema, bytes);

describe("a turn", () => {
  test("opens with a prompt, closes with its outcome and is settled", async () => {
    const turn = newOpenRequest(bot);
    const opened = await open(turn);
    expect(opened.messageId).toBeGreaterThan(0n);
    expect(opened.blocked).toBeUndefined();
    expect(opened.model).toBe(bot.model);
    expect(promptOf(opened.prompt)).toMatchObject({
      system: "Answer briefly.",
      passages: [],
      messages: [{ content: "Hello?" }],
    });
    expect(await close(turn)).toMatchObject({
      outcome: TurnOutcome.DONE,
      model: bot.model,
      tokensIn: 5,
      tokensOut: 2,
      latencyMs: 9,
    });
    await expect.poll(() => system.quota.outcomeOf(turn.turnId), { timeout: BEFORE_POLL_MS }).toBe(SettleOutcome.DONE);
    const next = await open(newOpenRequest(bot, { sessionId: turn.sessionId, message: "And?" }));
    expect(promptOf(next.prompt).messages.map((each) => each.content)).toEqual(["Hello?", "Hi!", "And?"]);
  });

  test("whose message is blocked counts once as closed, however often it is opened and closed", async () => {
    const blockingBot = await createBot(system.database);
    const key = { workspaceId: blockingBot.workspaceId, botId: blockingBot.id };
    await insertPattern(system.database, key, { pattern: "spam", reason: "r", fallback: "", appliesTo: "message" }, []);
    const before = await countClosedTurns(system, "blocked");
    const turn = newOpenRequest(blockingBot, { message: "spam" });
    for (let attempt = 0; attempt < 2; attempt++) {
      expect((await open(turn)).blocked).toBeDefined();
      await close(turn, TurnOutcome.BLOCKED);
    }
    expect(await countClosedTurns(system, "blocked")).toBe(before + 1);
  });

  test("gets the same response when it is opened repeatedly, concurrently and after its close", async () => {
    const turn = newOpenRequest(bot);
    const responses = await Promise.all(Array.from({ length: 30 }, () => open(turn)));
    await close(turn);
    responses.push(await open(turn), await open({ ...turn, message: "something else" }));
    const [first] = responses;
    const databaseTimeMicroseconds: unknown = expect.any(BigInt);
    for (const response of responses) expect(response).toEqual({ ...first, databaseTimeMicroseconds });
    const { rows } = await system.admin.query("SELECT FROM conversation.messages WHERE turn_id = $1", [turn.turnId]);
    expect(rows).toHaveLength(2);
  });

  test("keeps its first outcome when it is closed again with another outcome", async () => {
    const turn = newOpenRequest(bot);
    await open(turn);
    const first = await close(turn, TurnOutcome.ERROR, "");
    expect(first.outcome).toBe(TurnOutcome.ERROR);
    expect(await close(turn)).toEqual(first);
    expect(await close(turn, TurnOutcome.CANCELLED, "")).toEqual(first);
  });

  test("is not closed as done after its deadline and stays open for another outcome", async () => {
    const turn = newOpenRequest(bot);
    const { databaseTimeMicroseconds = 0n } = await open(turn);
    const { workspaceId, turnId } = turn;
    const closeAsDone = (deadlineMicroseconds: bigint) =>
      system.conversation.closeTurn(
        { workspaceId, turnId, outcome: TurnOutcome.DONE, month: "2026-11", deadlineMicroseconds },
        options,
      );
    await expect(closeAsDone(databaseTimeMicroseconds)).rejects.toMatchObject({
      status: status.FAILED_PRECONDITION,
      code: "deadline_passed",
    });
    expect(await close(turn, TurnOutcome.ERROR, "")).toMatchObject({ outcome: TurnOutcome.ERROR });
    // Once the turn is closed, CloseTurn returns its outcome even after the deadline.
    expect(await closeAsDone(databaseTimeMicroseconds)).toMatchObject({ outcome: TurnOutcome.ERROR });
  });

  test("closes as done before its deadline", async () => {
    const turn = newOpenRequest(bot);
    const { databaseTimeMicroseconds = 0n } = await open(turn);
    const { workspaceId, turnId } = turn;
    const deadlineMicroseconds = databaseTimeMicroseconds + 10_000_000n;
    const request = { workspaceId, turnId, outcome: TurnOutcome.DONE, month: "2026-11", deadlineMicroseconds };
    expect(await system.conversation.closeTurn(request, options)).toMatchObject({ outcome: TurnOutcome.DONE });
  });

  test("stores a replacement character for each NUL in its reply", async () => {
    const turn = newOpenRequest(bot);
    await open(turn);
    const { workspaceId, turnId } = turn;
    await system.conversation.closeTurn(
      { workspaceId, turnId, outcome: TurnOutcome.DONE, month: "2026-11", content: "a\0b" },
      options,
    );
    const { rows } = await system.admin.query(
      "SELECT content FROM conversation.messages WHERE turn_id = $1 AND role = 'assistant'",
      [turnId],
    );
    expect(rows).toEqual([{ content: "a\uFFFDb" }]);
  });

  describe("that continues a question", () => {
    const ask = async (owner: Bot, message: string, fields: Partial<OpenRequest> = {}) => {
      const turn = newOpenRequest(owner, { ...fields, message });
      const { prompt } = await open(turn);
      await close(turn);
      const { passages, terms } = promptOf(prompt);
      return { headings: passages.map(({ heading }) => heading), words: terms.map(({ word }) => word), ...turn };
    };
    const addShop = async () => {
      const owner = await createBot(system.database);
      // Each of the other sections contains the words of the follow-up, and a prompt has room for 12 passages.
      const others = Array.from(
        { length: 20 },
        (_, n) => `## Item ${n}\nFor item ${n}, take the blue box. It has a lid.`,
      );
      await addDocument(
        system.database,
        owner,
        "shop.md",
        `# Glaze\nGlaze on a kiln plate is food safe.\n${others.join("\n")}`,
      );
      return owner;
    };

    test("searches for the words of that question too, but does not name them as its own", async () => {
      const owner = await addShop();
      const { headings, sessionId, words } = await ask(owner, "Which glaze is food safe?");
      expect(headings[0]).toBe("Glaze");
      expect(words).toContain("glaze");
      const continued = await ask(owner, "And for the box?", { sessionId });
      expect(continued.headings).toContain("Glaze");
      expect(continued.words).not.toContain("glaze");
      expect((await ask(owner, "And for the lid?", { sessionId })).headings).toContain("Glaze");
      expect((await ask(owner, "Is there a lid on the box?", { sessionId })).headings).not.toContain("Glaze");
      expect((await ask(owner, "And for the box?")).headings).not.toContain("Glaze");
    });

    test("does not search for another visitor's question", async () => {
      const owner = await addShop();
      const { sessionId } = await ask(owner, "Which glaze is food safe?", { visitorId: "ada" });
      expect((await ask(owner, "And for the box?", { sessionId, visitorId: "ada" })).headings).toContain("Glaze");
      expect((await ask(owner, "And for the box?", { sessionId, visitorId: "bob" })).headings).not.toContain("Glaze");
      expect((await ask(owner, "And for the box?", { sessionId, visitorId: "bob" })).headings).not.toContain("Glaze");
    });
  });

  test("stores the passages of its prompt, and returns the same passages when it is opened again", async () => {
    const botWithKnowledge = await createBot(system.database);
    await system.createAdminClient(KnowledgeAdminService).addSource({
      ...botFields(botWithKnowledge),
      name: "plans.md",
      format: "md",
      content: Buffer.from("# Plans\n\nThe free plan has 100 messages.\n\n# Hours\n\nWe open at nine."),
    });
    const turn = newOpenRequest(botWithKnowledge, { message: "How many messages has the free plan?" });
    const opened = await open(turn);
    const { passages } = promptOf(opened.prompt);
    expect(passages).toMatchObject([{ source: "plans.md", heading: "Plans", text: "The free plan has 100 messages." }]);
    const { rows } = await system.admin.query(
      "SELECT rag_chunks_used FROM conversation.messages WHERE turn_id = $1 AND role = 'assistant'",
      [turn.turnId],
    );
    expect(rows[0].rag_chunks_used.map(Number)).toEqual(passages.map((passage) => Number(passage.id)));
    const databaseTimeMicroseconds: unknown = expect.any(BigInt);
    expect(await open(turn)).toEqual({ ...opened, retrievalMicroseconds: 0n, databaseTimeMicroseconds });
  });
});

describe("a blocked message", () => {
  test("gets the pattern's verdict and no prompt, also when it is repeated, and its turn is not settled", async () => {
    const moderatedBot = await createBot(system.database);
    const fields = botFields(moderatedBot);
    const moderation = system.createAdminClient(ModerationAdminService);
    await moderation.addPattern({ ...fields, pattern: "sec(ret)+", fallback: "Not that." });
    await moderation.addPattern({ ...fields, pattern: "rude", reason: "rudeness" });
    const turn = newOpenRequest(moderatedBot, { message: "Tell me the SEＣRET" });
    const opened = await open(turn);
    expect(opened).toMatchObject({
      blocked: { reason: "blocked_pattern", fallback: "Not that." },
      model: moderatedBot.model,
    });
    expect(opened.prompt).toHaveLength(0);
    expect(await open(turn)).toEqual(opened);
    expect((await open(newOpenRequest(moderatedBot, { message: "rude" }))).blocked).toMatchObject({
      reason: "rudeness",
      fallback: moderatedBot.fallback,
    });
    expect((await close(turn)).outcome).toBe(TurnOutcome.BLOCKED);
    const { rows } = await system.admin.query("SELECT FROM conversation.outbox WHERE turn_id = $1", [turn.turnId]);
    expect(rows).toEqual([]);
    // The process settles turns in the order in which they close. So once this later turn is settled, a settlement of the blocked turn would
    // have reached quota too.
    const later = newOpenRequest(moderatedBot);
    await open(later);
    await close(later);
    await expect.poll(() => system.quota.outcomeOf(later.turnId), { timeout: BEFORE_POLL_MS }).toBe(SettleOutcome.DONE);
    expect(system.quota.outcomeOf(turn.turnId)).toBeUndefined();
  });
});

describe("tools and reply patterns", () => {
  const url = "https://api.example.com/orders/{id}";
  const parameters = JSON.stringify({ type: "object", properties: { id: { type: "string" } }, required: ["id"] });

  test("OpenTurn returns the tools and reply patterns in the prompt, and does not block a message that matches only a reply pattern", async () => {
    const equippedBot = await createBot(system.database);
    const fields = botFields(equippedBot);
    const moderation = system.createAdminClient(ModerationAdminService);
    await moderation.addPattern({ ...fields, pattern: "secret", reason: "leak", appliesTo: "reply" });
    await moderation.addPattern({ ...fields, pattern: "rude", fallback: "No.", appliesTo: "both" });
    await moderation.addPattern({ ...fields, pattern: "spam" });
    const kind = { case: "http" as const, value: { description: "Finds.", method: "GET", url, parameters } };
    await system
      .createAdminClient(ToolAdminService)
      .putTool({ ...fields, tool: { name: "order", secret: "orders", kind } });
    const opened = await open(newOpenRequest(equippedBot, { message: "Is it secret?" }));
    expect(opened.blocked).toBeUndefined();
    const prompt = promptOf(opened.prompt);
    expect(prompt.tools).toMatchObject([{ name: "order", secret: "orders", kind }]);
    expect(prompt.replyPatterns).toMatchObject([
      { pattern: "secret", verdict: { reason: "leak", fallback: equippedBot.fallback } },
      { pattern: "rude", verdict: { reason: "blocked_pattern", fallback: "No." } },
    ]);
    for (const message of ["rude", "spam"])
      expect((await open(newOpenRequest(equippedBot, { message }))).blocked).toBeDefined();
  });

  test("CloseTurn stores the tool calls and the reason why the reply was blocked", async () => {
    const turn = newOpenRequest(bot);
    const { workspaceId, turnId } = turn;
    await open(turn);
    const closed = await system.conversation.closeTurn(
      {
        workspaceId,
        turnId,
        outcome: TurnOutcome.BLOCKED,
        content: "I cannot say.",
        blockedReason: "leak",
        toolsCalled: [
          { name: "order", arguments: '{"id":"A7"}', status: "ok", latencyMs: 12 },
          { name: "other\0", arguments: '{"text":"\\u0000"}', status: "failed", latencyMs: 3 },
        ],
      },
      options,
    );
    expect(closed.outcome).toBe(TurnOutcome.BLOCKED);
    const { rows } = await system.admin.query(
      `SELECT m.status, m.content, m.tools_called, t.blocked_reason FROM conversation.messages m
       JOIN conversation.turns t USING (workspace_id, turn_id) WHERE m.turn_id = $1 AND m.role = 'assistant'`,
      [turnId],
    );
    expect(rows).toEqual([
      {
        status: "blocked",
        content: "I cannot say.",
        blocked_reason: "leak",
        tools_called: [
          { name: "order", arguments: { id: "A7" }, status: "ok", latency_ms: 12 },
          // PostgreSQL refuses NUL in jsonb, so these arguments are stored as {}.
          { name: "other\uFFFD", arguments: {}, status: "failed", latency_ms: 3 },
        ],
      },
    ]);
    await expect.poll(() => system.quota.outcomeOf(turnId), { timeout: BEFORE_POLL_MS }).toBe(SettleOutcome.VOID);
  });

  test("CloseTurn stores that a complete reply was cut, which the owner's transcript contains and export.json does not", async () => {
    const session = newOpenRequest(bot).sessionId;
    for (const [outcome, finishDetail] of [
      [TurnOutcome.DONE, "length"],
      [TurnOutcome.DONE, "a newer one"],
      [TurnOutcome.ERROR, "length"],
    ] as const) {
      const turn = newOpenRequest(bot, { sessionId: session });
      await open(turn);
      await system.conversation.closeTurn({ ...newCloseRequest(turn, outcome), finishDetail }, options);
    }
    const readMessages = async (withReviews: boolean) => {
      const pieces = [];
      for await (const piece of exportSession(system.database, bot.workspaceId, session, { withReviews }))
        pieces.push(piece);
      return (JSON.parse(pieces.join("")) as { messages: Record<string, unknown>[] }).messages;
    };
    const details = (await readMessages(true)).map(({ finish_detail: detail }) => detail);
    expect(details).toEqual(["", "length", "", "", "", ""]);
    for (const message of await readMessages(false)) expect(message).not.toHaveProperty("finish_detail");
  });
});
