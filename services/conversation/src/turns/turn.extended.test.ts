import { status } from "@parley/rpc";
import { BotAdminService } from "@parley/rpc/conversation";
import { expect, test } from "vitest";
import { insertPattern, listPatterns } from "../bot-rules/moderation.store.ts";
import { rpcFailure, useTestSystem } from "../testing/system.ts";
import { createBot, newOpenRequest, type OpenRequest } from "../testing/turns.ts";

const system = useTestSystem();

const open = (turn: OpenRequest) => system.conversation.openTurn(turn, { timeoutMs: 5_000 });

test("a message that takes too long to match against the patterns is refused and not stored, and a metric counts it", async () => {
  const moderatedBot = await createBot(system.database);
  const { workspaceId, id: botId } = moderatedBot;
  // Inserts the patterns into the database, because the admin service refuses so many large ones.
  for (let number = 0; number < 100; number++) {
    const pattern = { pattern: `\u0644.{0,138}z${number}`, reason: "r", fallback: "", appliesTo: "message" as const };
    const saved = await listPatterns(system.database, workspaceId, botId);
    await insertPattern(system.database, { workspaceId, botId }, pattern, saved);
  }
  // Normalisation expands U+FDFA to eighteen characters, and several of them match the start of every pattern: U+0644.
  const message = Array.from({ length: 4_000 }, () => "\ufdfa\ufdfaxy"[Math.floor(Math.random() * 4)]).join("");
  const opened = system.conversation.openTurn(newOpenRequest(moderatedBot, { message }), { timeoutMs: 15_000 });
  expect(await rpcFailure(opened)).toMatchObject({
    status: status.RESOURCE_EXHAUSTED,
    code: "moderation_overloaded",
  });
  const { rows } = await system.admin.query("SELECT FROM conversation.turns WHERE workspace_id = $1", [workspaceId]);
  expect(rows).toEqual([]);
  const metrics = await (await fetch(`${system.opsUrl}/metrics`)).text();
  expect(metrics).toMatch(/^parley_moderation_duration_seconds_count\{.*kind="match",result="match_timeout".*\} 1$/m);
});

test("a change of a bot applies to new turns within 5 s", async () => {
  const changed = await createBot(system.database);
  await open(newOpenRequest(changed));
  await system.createAdminClient(BotAdminService).updateBot({
    workspaceId: changed.workspaceId,
    slug: changed.slug,
    changes: { model: "openai:new", systemPrompt: "New." },
  });
  await expect
    .poll(async () => (await open(newOpenRequest(changed))).model, { timeout: 5_000, interval: 100 })
    .toBe("openai:new");
});
