import { afterAll, beforeAll, expect, test } from "vitest";
import { chat, exportTranscript, postChat, readChat } from "./system/chat.ts";
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

test.each([
  ["a visitor's message", { pattern: "forbidden" }, { message: "Something forbidden." }],
  ["a reply", { pattern: "scripted provider", appliesTo: "reply" }, {}],
])("%s that is blocked is replaced in the visitor's language", async (_, pattern, fields) => {
  const { workspaceId, botSlug: slug } = tenant;
  const texts = { values: { de: { fallback: "Darüber spreche ich nicht." } } };
  await system.admin.bots.updateBot({ workspaceId, slug, changes: { fallback: "Not this.", texts } });
  await system.admin.moderation.addPattern({ workspaceId, botSlug: slug, ...pattern });
  for (const [language, fallback] of [
    ["de-AT,en;q=0.7", "Darüber spreche ich nicht."],
    ["fr", "Not this."],
  ] as const) {
    const expected = expect.objectContaining({ fallback });
    await expect
      .poll(
        async () => {
          const headers = { "accept-language": language };
          const { events } = await readChat(await postChat(system.url(), tenant, fields, { headers }));
          return events.find(({ event }) => event === "blocked")?.data;
        },
        { timeout: 10_000, interval: 500 },
      )
      .toEqual(expected);
  }
});
