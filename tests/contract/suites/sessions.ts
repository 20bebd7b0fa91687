// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import type { SseEvent } from "@parley/test-support";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTenant, type Tenant } from "../../system/system.ts";
import type { Api } from "../support/api.ts";
import {
  addBot,
  type ContractSystem,
  createMemberToken,
  formatError,
  formatRefusal,
  readTranscript,
  waitForUsedMessages,
} from "../support/contract-system.ts";
import { eventNames, eventsOf, promptOf } from "../support/stream.ts";

export function sessionsSuite(shared: () => ContractSystem): void {
  let system: ContractSystem;
  let api: Api;
  let tenant: Tenant;

  beforeAll(async () => {
    system = shared();
    ({ api } = system);
    tenant = await createTenant(system.admin);
  });
  beforeEach(() => system.provider.reset());

  const createBot = (model: string) => addBot(system, tenant, `bot-${randomUUID().slice(0, 8)}`, model);

  describe("sessions", () => {
    test("two concurrent turns both run; a prompt contains earlier turns only if their reply is complete, and the export contains no streaming turn [D14/1-2] [D17/3] [4.3/7]", async () => {
      const hasRequest = (index: number) => () => system.provider.requests.length > index;
      system.provider.script([{}, { everyMs: 500 }, { everyMs: 500 }]);
      const session_id = randomUUID();
      await api.chat(tenant, { session_id, message: "Finished." });
      const events = eventsOf(await api.openChat(tenant, { session_id, message: "First." }));
      await expect.poll(hasRequest(1), { timeout: 10_000 }).toBe(true);
      const second = api.chat(tenant, { session_id, message: "Second." });
      await expect.poll(hasRequest(2), { timeout: 10_000 }).toBe(true);
      expect(
        promptOf(system, 2)
          .filter(({ role }) => role === "user")
          .map(({ content }) => content),
      ).toEqual(["Finished.", "Second."]);
      expect((await readTranscript(system, tenant, session_id)).messages).toHaveLength(2);

      let last: SseEvent | undefined;
      for await (const event of events) last = event;
      expect(last).toMatchObject({ event: "done", data: { finish_reason: "stop" } });
      expect((await second).done?.finish_reason).toBe("stop");
      const { messages } = await readTranscript(system, tenant, session_id);
      expect(messages.map(({ role, content }) => (role === "user" ? content : role))).toEqual([
        "Finished.",
        "assistant",
        "First.",
        "assistant",
        "Second.",
        "assistant",
      ]);
    });

    test("the same session id in another workspace is a separate session [D13/1] [5/9]", async () => {
      const other = await createTenant(system.admin, { model: "openai:echo" });
      const session_id = randomUUID();
      await api.chat(tenant, { session_id, message: "A secret of the first workspace." });
      await api.chat(other, { session_id, message: "Hello from the second." });
      expect(promptOf(system, 1)).toEqual([{ role: "user", content: "Hello from the second." }]);
      expect((await readTranscript(system, tenant, session_id)).messages[0]?.content).toBe(
        "A secret of the first workspace.",
      );
      const { messages } = await readTranscript(system, other, session_id);
      expect(messages.map(({ content }) => content)).toEqual(["Hello from the second.", "Hello from the second."]);
    });

    test("a session id of another bot of the workspace gets session_not_found [D13/2] [7.3/1]", async () => {
      const session_id = randomUUID();
      await api.chat(tenant, { session_id });
      const other = await createBot("openai:default");
      expect(formatRefusal(await api.refusedChat(other, { session_id }))).toBe(formatError(404, "session_not_found"));
    });

    test("a deleted session accepts no more messages [D13/3] [3/2] [7.3/1]", async () => {
      const session_id = randomUUID();
      await api.chat(tenant, { session_id });
      await system.admin.sessions.deleteSession({ workspaceId: tenant.workspaceId, sessionId: session_id });
      expect(formatRefusal(await api.refusedChat(tenant, { session_id }))).toBe(formatError(404, "session_not_found"));
    });
  });

  describe("playground", () => {
    test("the playground streams the same events as chat, in its own sessions, and its replies count against the quota [4.4/1-2] [5/3] [D26/1-3]", async () => {
      const freshTenant = await createTenant(system.admin);
      const { botSlug: bot_slug } = freshTenant;
      const token = await createMemberToken(system, freshTenant);
      const session_id = randomUUID();
      const result = await api.playground(token, { bot_slug, session_id, visitor_metadata: { try: 1 } });
      expect(eventNames(result)).toEqual(["meta", "token", "done"]);
      expect(result.meta).toMatchObject({ session_id });
      expect(result.done).toMatchObject({
        finish_reason: "stop",
        tokens_in: 21,
        tokens_out: 34,
        model: "openai:default",
      });
      const { session } = await readTranscript(system, freshTenant, session_id);
      expect(session).toMatchObject({ source: "playground", visitor_metadata: { try: 1 } });
      expect(await waitForUsedMessages(system, freshTenant)).toBe(1);

      expect(formatRefusal(await api.refusedChat(freshTenant, { session_id }))).toBe(
        formatError(404, "session_not_found"),
      );
      const widgetSession = randomUUID();
      await api.chat(freshTenant, { session_id: widgetSession });
      const refused = await api.refusedPlayground(token, { bot_slug, session_id: widgetSession });
      expect(formatRefusal(refused)).toBe('404 {"detail":"session_not_found"}');
    });

    test("the playground finds only bots of the caller's workspace, and its error bodies have the key 'detail' [4.4/2] [7.3/1] [D26/4-5]", async () => {
      const token = await createMemberToken(system, tenant);
      const foreign = await createTenant(system.admin);
      for (const bot_slug of ["no-such-bot", foreign.botSlug, "' OR 1=1 --"])
        expect(formatRefusal(await api.refusedPlayground(token, { bot_slug }))).toBe('404 {"detail":"bot_not_found"}');
      const { botSlug: bot_slug } = tenant;
      const wrong: [Record<string, unknown>, string][] = [
        [{}, "invalid_message"],
        [{ bot_slug, message: "" }, "invalid_message"],
        [{ bot_slug, message: "x".repeat(4_001) }, "message_too_long"],
        [{ bot_slug, session_id: "1" }, "invalid_session_id"],
      ];
      for (const [fields, code] of wrong)
        expect(formatRefusal(await api.refusedPlayground(token, fields))).toBe(`400 {"detail":"${code}"}`);
      const headers = { authorization: `Bearer ${token}` };
      const answer = await api.call({ method: "POST", path: "/api/chat/playground/", headers, body: "{" });
      expect(formatRefusal(answer)).toBe('400 {"detail":"invalid_json"}');
    });
  });
}
