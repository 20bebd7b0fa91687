import { setTimeout as sleep } from "node:timers/promises";
import { queryRows } from "@parley/test-support";
import { CONSOLE_WORKSPACE, type DevelopmentSso, startDevelopmentSso } from "../../../tests/system/console.ts";
import { POD_HEAPS } from "../../../tests/system/pods.ts";
import { storeTurns, vacuumDatabase } from "./messages.ts";
import { BENCH_PLAN, startTestbed, type Testbed } from "./testbed.ts";

export const MESSAGES = 10_000_000;
/** The number of messages in the owner's workspace, included in MESSAGES. A bulk export reads all messages of this workspace. */
export const OWNER_WORKSPACE_MESSAGES = 1_000_000;
export const BOT = "guide";
const WORKSPACES = 1_000;
/** Minimum scale for OWNER_WORKSPACE_MESSAGES. With fewer messages, an export would end before measureExportNeighbour has sent its chats. */
const MIN_OWNER_SCALE = 0.2;

export type OwnersTestbed = { testbed: Testbed; sso: DevelopmentSso; stop(): Promise<void> };

/** Starts Parley with a large database. The owner's workspace is CONSOLE_WORKSPACE, and its bot is BOT. */
export async function startOwnersTestbed(scale: number, progress: (line: string) => void): Promise<OwnersTestbed> {
  const sso = await startDevelopmentSso();
  try {
    const testbed = await startTestbed("tokens-10", {
      // measureExportNeighbour sets the due_at of the tasks `reconcile` and `fill call log` five minutes ahead. With the default interval of
      // 60 s, a replica would conclude from such a late due_at that the database's clock was set back, and start the tasks early.
      env: {
        edge: { ...sso.env, ...POD_HEAPS.edge },
        conversation: { ...sso.env, ...POD_HEAPS.conversation, RECONCILE_EVERY_SECONDS: "600" },
        quota: sso.env,
      },
    });
    const stop = () => testbed.stop().finally(() => sso.stop());
    try {
      await fill(testbed, scale, progress);
      return { testbed, sso, stop };
    } catch (error) {
      await testbed.stop();
      throw error;
    }
  } catch (error) {
    await sso.stop();
    throw error;
  }
}

async function fill({ system, tenant }: Testbed, scale: number, progress: (line: string) => void): Promise<void> {
  const { admin, database } = system;
  const workspaceId = CONSOLE_WORKSPACE;
  await admin.workspaces.createWorkspace({ id: workspaceId, name: "Benchmark", plan: BENCH_PLAN });
  await admin.bots.createBot({ workspaceId, slug: BOT, changes: { model: "openai:tokens-10" } });
  // Without a document, the list of unanswered questions reads only replies that were rated down.
  const content = Buffer.from("# Opening hours\n\nThe shop opens at nine.");
  await admin.knowledge.addSource({ workspaceId, botSlug: BOT, name: "hours.md", format: "md", content });
  const ownerTurns = (OWNER_WORKSPACE_MESSAGES * Math.max(scale, MIN_OWNER_SCALE)) / 2;
  const report = (turns: number) => progress(`${(turns * 2).toLocaleString("en")} messages stored`);
  await storeTurns(database.url, { workspaceId, turns: ownerTurns });
  await storeTurns(
    database.url,
    {
      workspaceId: tenant.workspaceId,
      turns: (MESSAGES * scale) / 2 - ownerTurns,
      workspaces: WORKSPACES - 1,
    },
    report,
  );
  await vacuumDatabase(database.url);
  // The conversation service counted the replies of past days before these turns were stored. Without the rows that hold its progress, it
  // counts those days again.
  await queryRows(
    database.url,
    "DELETE FROM conversation.task_leases WHERE task IN ('count_replies', 'count_bot_replies')",
  );
  const selectCountedReplies = `
    SELECT least(
      (SELECT coalesce(sum(replies), 0) FROM conversation.reply_counts WHERE workspace_id = $1),
      (SELECT coalesce(sum(replies), 0) FROM conversation.bot_reply_counts WHERE workspace_id = $1)
    )::integer AS count`;
  while (
    ((await queryRows<{ count: number }>(database.url, selectCountedReplies, [workspaceId]))[0]?.count ?? 0) <
    ownerTurns
  )
    await sleep(500);
  progress("replies counted");
}
