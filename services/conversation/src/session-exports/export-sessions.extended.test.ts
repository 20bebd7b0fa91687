import { setTimeout as sleep } from "node:timers/promises";
import { ExportFormat } from "@parley/rpc/conversation";
import { beforeAll, expect, test } from "vitest";
import type { Bot } from "../bots/bots.store.ts";
import { insertSessions } from "../testing/sessions.ts";
import { useTestSystem } from "../testing/system.ts";
import { createBot, newOpenRequest } from "../testing/turns.ts";

const system = useTestSystem();
let bot: Bot;
beforeAll(async () => {
  bot = await createBot(system.database);
  await insertSessions(system.admin, bot, { sessions: 300 });
  await insertSessions(system.admin, bot, { sessions: 20, turns: 20 });
  await insertSessions(system.admin, bot, { sessions: 2, turns: 100 });
});

async function exportAll(): Promise<void> {
  const request = { workspaceId: bot.workspaceId, format: ExportFormat.NDJSON };
  for await (const _ of system.sessions.exportSessions(request, { timeoutMs: 60_000 }));
}

test("an export takes more than twice as long while turns are opened", async () => {
  const measureMs = async () => {
    const startedAt = performance.now();
    await exportAll();
    return performance.now() - startedAt;
  };
  const otherBot = await createBot(system.database);
  const open = () => system.conversation.openTurn(newOpenRequest(otherBot), { timeoutMs: 10_000 });
  const ratios: number[] = [];
  for (let round = 0; round < 3; round++) {
    // For a second after each OpenTurn, exports pause before each statement. Waits until they no longer pause.
    await sleep(1_100);
    const alone = await measureMs();
    await open();
    const timer = setInterval(() => void open(), 200);
    ratios.push((await measureMs()) / alone);
    clearInterval(timer);
  }
  expect(ratios.toSorted((a, b) => a - b)[1]).toBeGreaterThan(2);
});
