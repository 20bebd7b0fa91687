import { randomUUID } from "node:crypto";
import { Code } from "@connectrpc/connect";
import { KnowledgeAdminService, SessionAdminService, TurnAdminService } from "@parley/rpc/conversation";
import { expect, onTestFinished, test } from "vitest";
import { resolveHandoff, takeHandoff } from "../handoff/handoff.store.ts";
import { storeAgentMessage } from "../handoff/handoff-messages.store.ts";
import { startTestLlm } from "../testing/llm.ts";
import { startTestService } from "../testing/service.ts";
import { adminFailure, useTestSystem } from "../testing/system.ts";
import { botFields, createBot, newOpenRequest, newTurn, runTurn } from "../testing/turns.ts";
import { openHandoffTurn } from "./open-handoff-turn.store.ts";
import { openTurn } from "./open-turn.store.ts";

const system = useTestSystem();

test("ListTurns returns a session, its turns (oldest first) and, without duplicates, the passages that the replies used", async () => {
  const bot = await createBot(system.database);
  const { workspaceId } = bot;
  await system.createAdminClient(KnowledgeAdminService).addSource({
    ...botFields(bot),
    name: "a.md",
    format: "md",
    content: Buffer.from("# Delivery\n\nIt takes two days."),
  });
  const { rows } = await system.admin.query<{ id: number }>(
    "SELECT chunk_id AS id FROM conversation.knowledge_chunks WHERE bot_id = $1",
    [bot.id],
  );
  const chunkIds = [...rows.map(({ id }) => id), 9_999_999];
  const visitor = { visitorId: "v1", visitorVerified: true };
  const { sessionId, ...first } = newTurn(bot, {
    message: "When?",
    chunkIds,
    ...visitor,
    visitorMetadata: '{"plan":"pro"}',
    referrer: "https://a.example/",
    userAgent: "UA",
  });
  const messageId = await runTurn(
    system.database,
    { ...first, sessionId },
    { content: "In two days.", toolsCalled: [{ name: "look_up", arguments: {}, status: "ok", latency_ms: 12 }] },
  );
  const next = { sessionId, ...visitor };
  await runTurn(system.database, newTurn(bot, { ...next, message: "Sure?", chunkIds }), { content: "Yes." });
  await openTurn(system.database, newTurn(bot, { ...next, message: "Really?" }));
  await system.admin.query("UPDATE conversation.messages SET rating = 'up' WHERE message_id = $1", [messageId]);

  const turns = system.createAdminClient(TurnAdminService);
  const page = await turns.listTurns({ workspaceId, sessionId });
  expect(page).toMatchObject({
    session: {
      id: sessionId,
      botSlug: bot.slug,
      ...visitor,
      visitorMetadata: '{"plan": "pro"}',
      referrer: "https://a.example/",
      userAgent: "UA",
    },
    turns: [
      {
        message: "When?",
        reply: "In two days.",
        rating: "up",
        turn: {
          status: "done",
          firstTokenMs: 123,
          latencyMs: 456,
          knowledge: [
            { source: "a.md", heading: "Delivery" },
            { source: "", heading: "" },
          ],
          tools: [{ name: "look_up", status: "ok", latencyMs: 12 }],
        },
      },
      { message: "Sure?", reply: "Yes.", rating: "" },
      { message: "Really?", reply: "", turn: { status: "streaming", closedAt: "" } },
    ],
    passages: [{ text: "It takes two days." }],
    nextPageToken: "",
  });

  const messages: string[] = [];
  let pages = 0;
  for (let pageToken = ""; pages === 0 || pageToken !== ""; pages++) {
    const next = await turns.listTurns({ workspaceId, sessionId, pageSize: 1, pageToken });
    messages.push(...next.turns.map(({ message }) => message));
    pageToken = next.nextPageToken;
  }
  expect([messages, pages]).toEqual([["When?", "Sure?", "Really?"], 3]);
});

test("ListTurns has the messages of and to people in their places, and no page skips or repeats one", async () => {
  const bot = await createBot(system.database);
  const { workspaceId } = bot;
  const { sessionId, ...first } = newTurn(bot, { message: "When?" });
  await runTurn(system.database, { ...first, sessionId }, { content: "In two days." });
  const session = { workspaceId, sessionId };
  const anna = { agentId: "a1", agentName: "Anna" };
  await takeHandoff(system.database, session, { id: anna.agentId, name: anna.agentName });
  for (const message of ["one", "two", "three"]) {
    await openHandoffTurn(system.database, newTurn(bot, { sessionId, message: `${message}?` }));
    await storeAgentMessage(system.database, { ...session, ...anna, requestId: randomUUID(), text: message });
  }
  await resolveHandoff(system.database, session);
  await runTurn(system.database, newTurn(bot, { sessionId, message: "Sure?" }), { content: "Yes." });

  const turns = system.createAdminClient(TurnAdminService);
  const read = async (pageSize: number) => {
    const contents: [id: bigint, content: string][] = [];
    for (let pageToken: string | undefined = ""; pageToken !== undefined; ) {
      const page = await turns.listTurns({ ...session, pageSize, pageToken });
      contents.push(...page.turns.map(({ turn, reply }): [bigint, string] => [turn?.messageId ?? 0n, reply]));
      contents.push(
        ...page.handoffMessages.map(({ id, content, agent }): [bigint, string] => [
          id,
          agent ? `${agent.name}: ${content}` : content,
        ]),
      );
      pageToken = page.nextPageToken || undefined;
    }
    return contents.toSorted(([a], [b]) => Number(a - b)).map(([, content]) => content);
  };
  const whole = ["In two days.", "one?", "Anna: one", "two?", "Anna: two", "three?", "Anna: three", "Yes."];
  expect(await read(30)).toEqual(whole);
  expect(await read(1)).toEqual(whole);

  // More messages than a page has.
  await system.admin.query(
    `INSERT INTO conversation.messages (workspace_id, session_id, message_id, turn_id, role, content, status, model, agent_name, created_at, closed_at)
     SELECT $1, $2, last_message_id + 2 * n, gen_random_uuid(), 'assistant', n, 'done', 'human:a1', 'Anna', now(), now()
     FROM conversation.sessions, generate_series(1, 450) n WHERE workspace_id = $1 AND session_id = $2`,
    [workspaceId, sessionId],
  );
  const page = await turns.listTurns(session);
  expect(page.handoffMessages).toHaveLength(200);
  expect(page.nextPageToken).not.toBe("");
  expect(await read(30)).toEqual([...whole, ...Array.from({ length: 450 }, (_, index) => `Anna: ${index + 1}`)]);
});

test("ListTurns has the costs of the replies, and none if the llm-proxy does not answer", async () => {
  const bot = await createBot(system.database);
  const { workspaceId } = bot;
  const turn = newTurn(bot);
  await runTurn(system.database, turn);
  const request = { workspaceId, sessionId: turn.sessionId };
  const without = await system.createAdminClient(TurnAdminService).listTurns(request);
  expect(without.turns).toMatchObject([{ cost: "", tokensCached: 0 }]);
  const llm = await startTestLlm();
  const service = await startTestService(system.databaseUrl, system.quota.target, { LLM_TARGET: llm.target });
  onTestFinished(async () => {
    await service.stop();
    llm.close();
  });
  const { turns } = await service.createAdminClient(TurnAdminService).listTurns(request);
  expect(turns).toMatchObject([{ cost: "0.0012500000", tokensCached: 7 }]);
});

test("ListTurns returns not_found for a session that is unknown, of another workspace or deleted, and refuses an invalid page size or page token", async () => {
  const bot = await createBot(system.database);
  const { workspaceId } = bot;
  const turn = newTurn(bot);
  await runTurn(system.database, turn);
  const { sessionId } = turn;
  const turns = system.createAdminClient(TurnAdminService);
  for (const page of [{ pageSize: 101 }, { pageSize: -1 }, { pageToken: "x" }, { pageToken: "9".repeat(16) }])
    expect(await adminFailure(turns.listTurns({ workspaceId, sessionId, ...page }))).toMatchObject({
      code: Code.InvalidArgument,
    });
  await system.createAdminClient(SessionAdminService).deleteSession({ workspaceId, sessionId });
  const other = newTurn(await createBot(system.database));
  await runTurn(system.database, other);
  for (const each of [sessionId, other.sessionId, randomUUID(), "no-uuid"])
    expect(await adminFailure(turns.listTurns({ workspaceId, sessionId: each }))).toMatchObject({
      code: Code.NotFound,
      parleyCode: "session_not_found",
    });
});

test("owners' reads use none of the connections that turns use", async () => {
  const bots = await Promise.all(Array.from({ length: 10 }, () => createBot(system.database)));
  const locker = await system.admin.connect();
  await locker.query(
    "BEGIN; LOCK TABLE conversation.reply_counts, conversation.bot_reply_counts IN ACCESS EXCLUSIVE MODE",
  );
  const turns = system.createAdminClient(TurnAdminService);
  const reads = bots.flatMap(({ workspaceId }) => [
    turns.getStatistics({ workspaceId }),
    turns.listUsageByBot({ workspaceId }),
  ]);
  const listWaitingPools = async () => {
    const { rows } = await system.admin.query<{ pool: string }>(
      `SELECT DISTINCT application_name AS pool FROM pg_stat_activity
       WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%reply_counts%' AND query NOT LIKE '%INSERT%'`,
    );
    return rows.map(({ pool }) => pool);
  };
  try {
    await expect.poll(listWaitingPools, { timeout: 10_000 }).toEqual(["parley-conversation-export"]);
    const [bot] = bots;
    if (bot === undefined) throw new Error("there is no bot");
    await system.conversation.openTurn(newOpenRequest(bot), { timeoutMs: 5_000 });
  } finally {
    await locker.query("ROLLBACK");
    locker.release();
    await Promise.all(reads);
  }
});
