import { beforeAll, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { collect, createLongSession } from "../testing/session-exports.ts";
import { useTestSystem } from "../testing/system.ts";
import { createBot } from "../testing/turns.ts";

const system = useTestSystem();
let bot: Bot;
beforeAll(async () => {
  bot = await createBot(system.database);
});

const stream = (sessionId: string) =>
  system.sessions.getTranscript({ workspaceId: bot.workspaceId, sessionId }, { timeoutMs: 60_000 });
const createSession = (turns: number, content?: string) => createLongSession(system, bot, turns, content);

test("an export continues after PostgreSQL has closed the export's idle connection between two pages", async () => {
  const sessionId = await createSession(10_000, "z".repeat(2_000));
  const reader = stream(sessionId)[Symbol.asyncIterator]();
  const first = await reader.next();
  const closeIdle = async () => {
    const { rowCount } = await system.admin.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
       WHERE datname = current_database() AND application_name = 'parley-conversation-export' AND state = 'idle'`,
    );
    return rowCount;
  };
  await expect.poll(closeIdle).toBeGreaterThan(0);
  const rest = await collect({ [Symbol.asyncIterator]: () => reader });
  expect(JSON.parse(Buffer.from(first.value.json) + rest.text).messages).toHaveLength(20_000);
});

test("GetTranscript sends small and very large replies completely, in pieces of at most 256 KiB", async () => {
  const sessionId = await createSession(200, "x");
  const { rowCount: largeReplies } = await system.admin.query(
    `UPDATE conversation.messages SET content = repeat('ü', 1000000)
     WHERE session_id = $1 AND content = 'x' AND role = 'assistant' AND message_id % 5 = 0`,
    [sessionId],
  );
  expect(largeReplies).toBeGreaterThan(30);
  const { pieces, text } = await collect(stream(sessionId));
  expect(Math.max(...pieces.map((piece) => piece.length))).toBe(256 * 1024);
  const contents: string[] = JSON.parse(text).messages.map(({ content }: { content: string }) => content);
  expect(contents.filter((content) => content === "ü".repeat(1_000_000))).toHaveLength(largeReplies ?? 0);
  expect(contents.filter((content) => content === "x")).toHaveLength(400 - (largeReplies ?? 0));
});
