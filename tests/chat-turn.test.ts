import { afterAll, beforeAll, expect, test } from "vitest";
import { chat, exportTranscript } from "./system/chat.ts";
import { joinSharedSystem, type SharedSystem } from "./system/shared-system.ts";
import { createTenant, type Tenant } from "./system/system.ts";

let system: SharedSystem;
let tenant: Tenant;
beforeAll(async () => {
  system = await joinSharedSystem();
  await system.startEdge();
  tenant = await createTenant(system.admin);
});
afterAll(() => system?.stop());

test("a visitor's message is answered, stored, counted and exported", async () => {
  const session = crypto.randomUUID();
  const reply = await chat(system.url(), tenant, { session_id: session });
  expect(reply.events.map(({ event }) => event)).toEqual([
    "meta",
    ...reply.events.slice(1, -1).map(() => "token"),
    "done",
  ]);
  expect(reply.text).toBe("Hello from the scripted provider, token by token.");
  expect(reply.done).toMatchObject({ finish_reason: "stop", tokens_in: 21, tokens_out: 34, model: "openai:default" });

  const { workspaceId } = tenant;
  await expect
    .poll(async () => (await system.admin.workspaces.showUsage({ workspaceId })).usage, { timeout: 20_000 })
    .toMatchObject({ used: 1, held: 0 });
  const response = await exportTranscript(system, tenant, session);
  expect(await response.json()).toMatchObject({
    session: { id: session },
    messages: [{ role: "user" }, { role: "assistant", status: "done" }],
  });
});
