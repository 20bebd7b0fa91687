import { afterAll, beforeAll, expect, test } from "vitest";
import { chat } from "./system/chat.ts";
import { cliEnv, runCliJson } from "./system/cli.ts";
import { queryFirstRow, waitUntilSettled } from "./system/database.ts";
import { createTenant, type System, startSystem, type Tenant } from "./system/system.ts";

const ANSWER = "See **My orders** in your account. It takes *three* days.";

let system: System;
let tenant: Tenant;
beforeAll(async () => {
  system = await startSystem();
  tenant = await createTenant(system.admin);
}, 120_000);
afterAll(() => system?.stop());

test("an owner's answer is streamed word for word without a model, counted and stored as any reply, and moderated", async () => {
  const { workspaceId, botSlug } = tenant;
  const bot = ["--workspace", workspaceId, "--bot", botSlug];
  const env = cliEnv(system);
  const added = await runCliJson<{ id: string }>(
    ["answer", "add", ...bot, "--question", "Where is my order?", "Track it", "--answer", ANSWER],
    env,
  );
  expect(await runCliJson(["answer", "check", "hi where is my order", ...bot], env)).toMatchObject({
    question: "Where is my order?",
    given: true,
  });
  expect(await runCliJson(["answer", "list", ...bot], env)).toMatchObject([{ id: added.id, answer: ANSWER }]);

  const reply = await chat(system.url(), tenant, { message: "Where is my order" });
  expect(reply).toMatchObject({ text: ANSWER, done: { finish_reason: "stop", model: "builtin:curated" } });
  expect(system.provider.requests).toHaveLength(0);
  expect(await waitUntilSettled(system.database, 10_000, workspaceId)).toMatchObject({ used: 1, held: 0 });
  const stored = "SELECT content, model FROM conversation.messages WHERE workspace_id = $1 AND role = 'assistant'";
  expect(await queryFirstRow(system.database, stored, [workspaceId])).toEqual({
    content: ANSWER,
    model: "builtin:curated",
  });

  const other = await chat(system.url(), tenant, { message: "Where is my refund" });
  expect(other.done?.model).not.toBe("builtin:curated");
  expect(system.provider.requests).toHaveLength(1);

  const scope = { workspaceId, botSlug, pattern: "my orders", reason: "test", fallback: "No.", appliesTo: "reply" };
  await system.admin.moderation.addPattern(scope);
  await expect
    .poll(async () => (await chat(system.url(), tenant, { message: "track it" })).done?.finish_reason, {
      timeout: 10_000,
    })
    .toBe("blocked");
  expect(await runCliJson(["answer", "remove", added.id, ...bot], env)).toMatchObject({ removed: true });
}, 60_000);
