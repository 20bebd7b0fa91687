import { randomUUID } from "node:crypto";
import { HANDBOOK } from "@parley/test-support";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { chat } from "./system/chat.ts";
import { cliEnv, runCli } from "./system/cli.ts";
import { waitUntilEmbedded, EMBEDDING_MODEL, startSemanticSearchSystem } from "./system/semantic-search.ts";
import { metric } from "./system/metrics.ts";
import { createTenant, type System, type Tenant } from "./system/system.ts";

let system: System;
let tenant: Tenant;
beforeAll(async () => {
  system = await startSemanticSearchSystem();
  tenant = await createTenant(system.admin, { model: "openai:echo" });
  const { workspaceId, botSlug } = tenant;
  await system.admin.knowledge.addSource({
    ...{ workspaceId, botSlug, name: "handbook.md", format: "md" },
    content: new Uint8Array(Buffer.from(HANDBOOK)),
  });
  await waitUntilEmbedded(system, { workspaceId, botSlug });
}, 240_000);
afterAll(() => system?.stop());
afterEach(() => system.provider.reset());

/** What the model was given to answer a message with. */
async function promptOf(message: string): Promise<string> {
  const { status, done } = await chat(system.url(), tenant, { session_id: randomUUID(), message });
  expect([status, done?.finish_reason]).toEqual([200, "stop"]);
  const asked = system.provider.requests.findLast(({ model }) => model === "echo");
  return JSON.stringify(asked?.body);
}

/** How many searches by meaning went so. */
const searches = (result: string) =>
  metric(system.conversation, "parley_knowledge_semantic_searches_total", { result });

test("a visitor's words that no document has find the passage that means the same", async () => {
  expect(await promptOf("May I bring my dog?")).toContain("Every canine must be on a lead.");
  expect(await searches("ok")).toBeGreaterThanOrEqual(1);
});

test("the operator sees how much can be found by meaning", async () => {
  const { workspaceId, botSlug } = tenant;
  const list = ["knowledge", "list", "--workspace", workspaceId, "--bot", botSlug];
  const { stdout } = await runCli(list, cliEnv(system));
  expect(stdout).toContain(`Embedded 3 of 3 chunks with ${EMBEDDING_MODEL}.`);
});

test("a provider that does not embed in time costs the visitor nothing but what only the meaning finds", async () => {
  system.provider.script(({ model }) => (model === "words" ? { hangs: true } : undefined));
  expect(await promptOf("When does the shop open?")).toContain("from nine to six");
  const before = await searches("timeout");
  expect(await promptOf("May I bring my dog?")).not.toContain("canine");
  expect(await searches("timeout")).toBe(before + 1);
});
