import { randomUUID } from "node:crypto";
import pg from "pg";
import { expect, vi } from "vitest";
import { CONSOLE_WORKSPACE } from "../../system/console.ts";
import { addBot } from "../console-bot.ts";
import type { Service } from "../service.ts";

const DAYS = 30;
const HOST = "bakery.example";
const QUESTIONS = [
  "When is the delivery of bread in the morning?",
  "Do you deliver bread?",
  "What is your phone number?",
];
/** The number of messages on each of seven successive days. Repeats every week. */
const MESSAGES_OF_DAYS = [4, 3, 5, 4, 6, 8, 2] as const;

const messagesOf = (day: number) => MESSAGES_OF_DAYS[day % MESSAGES_OF_DAYS.length] ?? 0;

// Moves the nth turn back by the nth number of days in $2, to a time between 8:00 and 20:00. Leaves the turns of today as they are.
const SPREAD = `
  UPDATE conversation.turns t
  SET opened_at = moved.at, closed_at = moved.at + (t.closed_at - t.opened_at)
  FROM (
    SELECT turn_id, date_trunc('day', now()) - make_interval(days => day.ago) + make_interval(hours => 8, mins => row_number::integer * 37 % 720) AS at
    FROM (SELECT turn_id, row_number() OVER (ORDER BY turn_id) FROM conversation.turns WHERE workspace_id = $1 AND status = 'done') each
    JOIN unnest($2::integer[]) WITH ORDINALITY AS day (ago, number) ON day.number = each.row_number
    WHERE day.ago > 0
  ) moved
  WHERE t.workspace_id = $1 AND t.turn_id = moved.turn_id`;

/** Sends visitors' questions to two bots, spreads the turns over the last 30 days, and waits until the service has counted them. */
export async function addHistory(service: Service): Promise<void> {
  // One entry for each message: how many days ago it was sent.
  const daysAgo = Array.from({ length: DAYS }, (_, ago) => Array<number>(messagesOf(DAYS - ago)).fill(ago)).flat();
  const bots = [await addBot(service), await addBot(service, "Café guide")];
  const keys = await Promise.all(
    bots.map(async (botSlug) => {
      const request = { workspaceId: CONSOLE_WORKSPACE, botSlug, domains: [HOST] };
      return (await service.admin.keys.createKey(request)).key?.publicKey ?? "";
    }),
  );
  for (const [index] of daysAgo.entries()) {
    if (index % 10 === 0) service.nextVisitor();
    await ask(service, keys[index % 3 === 2 ? 1 : 0] ?? "", index);
  }
  const database = new pg.Client({ connectionString: service.system.databaseUrl });
  await database.connect();
  try {
    await database.query(SPREAD, [CONSOLE_WORKSPACE, daysAgo]);
    // The leases also store the tasks' progress. Without these rows, the tasks run immediately and count all hours again.
    await database.query("DELETE FROM conversation.task_leases WHERE task IN ('count_replies', 'count_bot_replies')");
  } finally {
    await database.end();
  }
  const { turns } = service.admin;
  const workspaceId = CONSOLE_WORKSPACE;
  await vi.waitFor(
    async () => {
      const { days } = await turns.getStatistics({ workspaceId, days: DAYS });
      const { usage } = await turns.listUsageByBot({ workspaceId });
      expect(days).toHaveLength(DAYS);
      expect(usage.reduce((sum, { messages }) => sum + messages, 0)).toBe(daysAgo.length);
    },
    { timeout: 120_000, interval: 1_000 },
  );
}

/** Asks a bot a question. Rates the reply if `index` is a multiple of four. */
async function ask(service: Service, publicKey: string, index: number): Promise<void> {
  const visitor = { public_key: publicKey, session_id: randomUUID() };
  const post = (path: string, body: object) =>
    fetch(service.url + path, {
      method: "POST",
      headers: { "content-type": "application/json", origin: `https://${HOST}` },
      body: JSON.stringify({ ...visitor, ...body }),
    });
  const reply = await (await post("/api/chat/", { message: QUESTIONS[index % QUESTIONS.length] })).text();
  const [, messageId] = /"message_id":(\d+)/.exec(reply) ?? [];
  expect(reply).toContain("event: done");
  if (index % 4 === 0)
    await post("/api/chat/rating/", { message_id: Number(messageId), rating: index % 12 === 0 ? "down" : "up" });
}
