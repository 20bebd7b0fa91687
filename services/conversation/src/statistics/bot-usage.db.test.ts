import { Code } from "@connectrpc/connect";
import { TurnAdminService } from "@parley/rpc/conversation";
import { expect, test, vi } from "vitest";
import { adminFailure, useTestSystem } from "../testing/system.ts";
import { createBot, newTurn, runTurn } from "../testing/turns.ts";
import { createBotReplyCountTask } from "./statistics.worker.ts";

const system = useTestSystem();
const { signal } = new AbortController();
/** Waits until the task `count_bot_replies` has succeeded. Then deletes its progress and runs it again, which counts all replies again. */
async function countReplies() {
  const succeeded =
    "SELECT FROM conversation.task_leases WHERE task = 'count_bot_replies' AND succeeded_at IS NOT NULL";
  await vi.waitFor(async () => expect((await system.admin.query(succeeded)).rowCount).toBe(1), { timeout: 10_000 });
  await system.admin.query("DELETE FROM conversation.task_leases WHERE task = 'count_bot_replies'");
  await createBotReplyCountTask(system.database)(signal);
}
/** Lists the usage of the latest `months` months, including this month. 0 means 6. */
const usage = async (workspaceId: string, months = 0) =>
  (await system.createAdminClient(TurnAdminService).listUsageByBot({ workspaceId, months })).usage.map(
    ({ month, botSlug, messages }) => [month, botSlug, messages],
  );
const thisMonth = () => new Date().toISOString().slice(0, 7);
/** Moves a turn to the middle of an earlier month. */
const moveBack = (turnId: string, months: number) =>
  system.admin.query(
    `UPDATE conversation.turns
     SET month = (date_trunc('month', now() AT TIME ZONE 'UTC') - make_interval(months => $2))::date,
         closed_at = date_trunc('month', now() AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' - make_interval(months => $2) + interval '14 days'
     WHERE turn_id = $1`,
    [turnId, months],
  );
const monthsAgo = (months: number) => {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - months, 1)).toISOString().slice(0, 7);
};

test("ListUsageByBot sums each bot's complete replies by the month in which quota counts them, the newest month first", async () => {
  const bot = await createBot(system.database);
  const other = await createBot(system.database, { workspaceId: bot.workspaceId });
  const { workspaceId } = bot;
  const run = async (replyingBot: typeof bot, months: number) => {
    const turn = newTurn(replyingBot);
    await runTurn(system.database, turn, { month: thisMonth() });
    if (months > 0) await moveBack(turn.turnId, months);
  };
  await run(bot, 0);
  for (const months of [0, 0, 1, 5, 6]) await run(other, months);
  await runTurn(system.database, newTurn(bot), { outcome: "error", month: undefined });
  await countReplies();
  // The second count must not change the totals.
  await countReplies();
  const expected = [
    [thisMonth(), other.slug, 2],
    [thisMonth(), bot.slug, 1],
    [monthsAgo(1), other.slug, 1],
    [monthsAgo(5), other.slug, 1],
  ];
  expect(await usage(workspaceId)).toEqual(expected);
  expect(await usage(workspaceId, 2)).toEqual(expected.slice(0, 3));
  expect(await usage((await createBot(system.database)).workspaceId)).toEqual([]);
  for (const months of [-1, 7])
    expect(await adminFailure(usage(workspaceId, months))).toMatchObject({ code: Code.InvalidArgument });
});
