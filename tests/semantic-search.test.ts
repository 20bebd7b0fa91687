import { randomUUID } from "node:crypto";
import { HANDBOOK } from "@parley/test-support";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { chat } from "./system/chat.ts";
import { cliEnv, runCliInProcess } from "./system/cli.ts";
import { readMetric } from "./system/metrics.ts";
import { EMBEDDING_MODEL, startSemanticSearchSystem, waitUntilEmbedded } from "./system/semantic-search.ts";
import { createTenant, type System, type Tenant } from "./system/system.ts";

let system: System;
let tenant: Tenant;
beforeAll(async () => {
  system = await startSemanticSearchSystem();
  tenant = await createTenant(system.admin, { model: "openai:echo" });
  const { workspaceId, botSlug } = tenant;
  await system.admin.knowledge.addSource({
    workspaceId,
    botSlug,
    name: "handbook.md",
    format: "md",
    content: new Uint8Array(Buffer.from(HANDBOOK)),
  });
  await waitUntilEmbedded(system, { workspaceId, botSlug });
}, 240_000);
afterAll(() => system?.stop());
afterEach(() => system.provider.reset());

/** Sends a message and returns the provider request for it as JSON. */
async function sendAndReadPrompt(message: string): Promise<string> {
  const { status, done } = await chat(system.url(), tenant, { session_id: randomUUID(), message });
  expect([status, done?.finish_reason]).toEqual([200, "stop"]);
  const request = system.provider.requests.findLast(({ model }) => model === "echo");
  return JSON.stringify(request?.body);
}

const countSearches = (result: string) =>
  readMetric(system.conversation, "parley_knowledge_semantic_searches_total", { result });

test("semantic search finds a passage that shares no word with the message", async () => {
  // On a busy machine the message's embedding may miss its deadline of 300 ms. After three failures, semantic search pauses for 10 s.
  await expect
    .poll(() => sendAndReadPrompt("May I bring my dog?"), { timeout: 40_000, interval: 1_000 })
    .toContain("Every canine must be on a lead.");
  expect(await countSearches("ok")).toBeGreaterThanOrEqual(1);
});

test("parley knowledge list prints how many chunks have embeddings", async () => {
  const { workspaceId, botSlug } = tenant;
  const list = ["knowledge", "list", "--workspace", workspaceId, "--bot", botSlug];
  const { stdout } = await runCliInProcess(list, cliEnv(system));
  expect(stdout).toContain(`Embedded 3 of 3 chunks with ${EMBEDDING_MODEL}.`);
});

test("a turn falls back to word search when the provider does not return the embedding in time", async () => {
  // The provider knows EMBEDDING_MODEL as `words`.
  system.provider.script(({ model }) => (model === "words" ? { hangs: true } : undefined));
  expect(await sendAndReadPrompt("When does the shop open?")).toContain("from nine to six");
  const before = await countSearches("timeout");
  expect(await sendAndReadPrompt("May I bring my dog?")).not.toContain("canine");
  expect(await countSearches("timeout")).toBe(before + 1);
});
