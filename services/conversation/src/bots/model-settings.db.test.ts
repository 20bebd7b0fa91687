import type { MessageInitShape } from "@bufbuild/protobuf";
import { BotAdminService, type BotChangesSchema } from "@parley/rpc/conversation";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestLlm, type TestLlm } from "../testing/llm.ts";
import { startTestService, type TestService } from "../testing/service.ts";
import { adminFailure, useTestSystem } from "../testing/system.ts";
import { createBot } from "../testing/turns.ts";

const system = useTestSystem();
let llm: TestLlm;
let service: TestService;
beforeAll(async () => {
  llm = await startTestLlm();
  service = await startTestService(system.databaseUrl, system.quota.target, { LLM_TARGET: llm.target });
});
afterAll(async () => {
  await service.stop();
  llm.close();
});

test("bots have settings of their model, which an update changes one by one and can unset", async () => {
  const bots = service.createAdminClient(BotAdminService);
  const { workspaceId, slug } = await createBot(system.database, { model: "openai:gpt-4o" });
  const update = async (changes: MessageInitShape<typeof BotChangesSchema>) =>
    (await bots.updateBot({ workspaceId, slug, changes })).bot;
  const changed = await update({
    temperature: { value: 0 },
    topP: { value: 0.5 },
    maxOutputTokens: 300,
    reasoningEffort: "low",
  });
  expect(changed).toMatchObject({ temperature: 0, topP: 0.5, maxOutputTokens: 300, reasoningEffort: "low" });
  const unset = await update({ temperature: {}, maxOutputTokens: 0, reasoningEffort: "" });
  expect([unset?.temperature, unset?.topP, unset?.maxOutputTokens, unset?.reasoningEffort]).toEqual([
    undefined,
    0.5,
    0,
    "",
  ]);
  for (const [changes, message] of [
    [{ temperature: { value: 2.1 } }, "temperature must be from 0 to 2"],
    [{ temperature: { value: Number.NaN } }, "temperature must be from 0 to 2"],
    [{ topP: { value: 1.1 } }, "top_p must be from 0 to 1"],
    [{ topP: { value: 0 } }, "top_p must be above 0"],
    [{ maxOutputTokens: -1 }, "max_output_tokens must be 0 or from 1 to 1,000,000"],
    [{ reasoningEffort: "huge" }, "reasoning_effort must be none, minimal, low, medium, high, xhigh or empty"],
  ] as const)
    expect(await adminFailure(update(changes))).toMatchObject({ parleyCode: "invalid_argument", message });
});

test("bots are not stored with a setting that their model refuses, whether the setting or the model changes", async () => {
  const bots = service.createAdminClient(BotAdminService);
  const original = await createBot(system.database, { model: "openai:thinker" });
  const { workspaceId, slug } = original;
  system.quota.workspaces.add(workspaceId);
  const refused = { parleyCode: "unsupported_setting", message: "openai:thinker: temperature is refused" };
  const temperature = { value: 0.2 };
  expect(await adminFailure(bots.updateBot({ workspaceId, slug, changes: { temperature } }))).toMatchObject(refused);
  const created = { workspaceId, slug: "new", changes: { temperature, model: "openai:thinker" } };
  expect(await adminFailure(bots.createBot(created))).toMatchObject(refused);
  const copied = { workspaceId, slug, newSlug: "copy", changes: { temperature } };
  expect(await adminFailure(bots.duplicateBot(copied))).toMatchObject(refused);
  await bots.updateBot({ workspaceId, slug, changes: { temperature, model: "openai:other" } });
  const back = { workspaceId, slug, changes: { model: "openai:thinker" } };
  expect(await adminFailure(bots.updateBot(back))).toMatchObject(refused);
  await bots.updateBot({ ...back, changes: { ...back.changes, temperature: {} } });
});
