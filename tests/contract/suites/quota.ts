// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ChatResult } from "../../system/chat.ts";
import { queryFirstRow } from "../../system/database.ts";
import { createTenant, type Tenant } from "../../system/system.ts";
import { newClientAddress } from "../../system/visitors.ts";
import type { Api } from "../support/api.ts";
import {
  addBot,
  type ContractSystem,
  createMemberToken,
  readTranscript,
  waitForUsedMessages,
} from "../support/contract-system.ts";
import { eventNames, eventsOf } from "../support/stream.ts";

export function quotaSuite(shared: () => ContractSystem): void {
  let system: ContractSystem;
  let api: Api;

  beforeAll(() => {
    system = shared();
    ({ api } = system);
  });
  beforeEach(() => system.provider.reset());

  const finishReasonOf = ({ done }: ChatResult) => done?.finish_reason;

  const usageOf = async ({ workspaceId }: Tenant) => (await system.admin.workspaces.showUsage({ workspaceId })).usage;

  /** Sends `count` chats, ten at a time. */
  async function sendChats(tenant: Tenant, count: number): Promise<ChatResult[]> {
    const results: ChatResult[] = [];
    let remaining = count;
    const worker = async () => {
      while (remaining-- > 0) results.push(await api.chat(tenant));
    };
    await Promise.all(Array.from({ length: 10 }, worker));
    return results;
  }

  test("plans allow 100, 5,000 and 25,000 messages a month [8/6-8]", async () => {
    for (const [plan, cap] of Object.entries({ free: 100, pro: 5_000, scale: 25_000 }))
      expect(await usageOf(await createTenant(system.admin, { plan }))).toMatchObject({ plan, cap, used: 0 });
  });

  test("a complete reply counts one message, in the widget and in the playground [1/5] [8/9] [D26/3]", async () => {
    const tenant = await createTenant(system.admin, { plan: "free" });
    await api.chat(tenant);
    await api.playground(await createMemberToken(system, tenant), { bot_slug: tenant.botSlug });
    expect(await waitForUsedMessages(system, tenant)).toBe(2);
  });

  describe("the cap", () => {
    let tenant: Tenant;

    beforeAll(async () => {
      tenant = await createTenant(system.admin, { plan: "free", model: "openai:tokens-2" });
      // Leaves two of the plan's 100 messages.
      expect(new Set((await sendChats(tenant, 98)).map(finishReasonOf))).toEqual(new Set(["stop"]));
    });

    test("a running reply holds one message, which counts as used, and only one of five concurrent turns gets the last message [D8/1] [8/6]", async () => {
      const slow = await addBot(system, tenant, "slow", "openai:tokens-10-every-100");
      const events = eventsOf(await api.openChat(slow));
      while ((await events.next()).value?.event !== "token");
      const racing = await Promise.all(Array.from({ length: 5 }, () => api.chat(tenant)));
      expect(racing.map(finishReasonOf).toSorted((a, b) => String(b).localeCompare(String(a)))).toEqual([
        "stop",
        ...Array.from({ length: 4 }, () => "quota_exceeded"),
      ]);
      for (const { error } of racing.filter((each) => each.error !== undefined))
        expect(error).toMatchObject({ used: 100, cap: 100 });
      let last: unknown;
      for await (const { event, data } of events) last = { event, data };
      expect(last).toMatchObject({ event: "done", data: { finish_reason: "stop" } });
      expect(await waitForUsedMessages(system, tenant)).toBe(100);
    });

    test("at the cap no provider is called, the stream has the events error (quota_exceeded) and done, and the transcript's reply has the status quota_exceeded [4.1/8] [6/5-6] [6/10-11] [7.4/1] [8/12] [D8/1] [D17/1]", async () => {
      const session_id = randomUUID();
      const result = await api.chat(tenant, { session_id });
      expect(result.status).toBe(200);
      expect(eventNames(result)).toEqual(["meta", "error", "done"]);
      expect(result.error).toEqual({
        code: "quota_exceeded",
        plan: "free",
        used: 100,
        cap: 100,
        message: expect.stringMatching(/\w{3}/),
      });
      expect(result.done).toMatchObject({ finish_reason: "quota_exceeded", tokens_in: 0, tokens_out: 0 });
      expect(system.provider.requests).toEqual([]);
      const { messages } = await readTranscript(system, tenant, session_id);
      expect(messages.map(({ status }) => status)).toEqual(["done", "quota_exceeded"]);
      expect(await waitForUsedMessages(system, tenant)).toBe(100);
    });

    test("at the cap the playground is refused too [D26/3]", async () => {
      const token = await createMemberToken(system, tenant);
      const result = await api.playground(token, { bot_slug: tenant.botSlug });
      expect(result.done).toMatchObject({ finish_reason: "quota_exceeded" });
    });

    test("at the cap a blocked message still gets the event blocked [D7/1]", async () => {
      const bot = await addBot(system, tenant, "strict");
      const { workspaceId, botSlug } = bot;
      await system.admin.moderation.addPattern({ workspaceId, botSlug, pattern: "forbidden", fallback: "No." });
      const result = await api.chat(bot, { message: "This is forbidden." });
      expect(eventNames(result)).toEqual(["meta", "blocked", "done"]);
      expect(finishReasonOf(result)).toBe("blocked");
    });

    test("a plan change takes effect immediately [8/7]", async () => {
      const { workspaceId } = tenant;
      await system.admin.workspaces.setPlan({ workspaceId, plan: "pro" });
      expect(finishReasonOf(await api.chat(tenant))).toBe("stop");
      await system.admin.workspaces.setPlan({ workspaceId, plan: "free" });
      expect((await api.chat(tenant)).error).toMatchObject({ code: "quota_exceeded", used: 100, cap: 100 });
    });

    test("usage resets on the first of the month [8/11]", async () => {
      const nextMonth = () => {
        const now = new Date();
        return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
      };
      const before = nextMonth();
      const usage = await usageOf(tenant);
      // The month may have changed during the call.
      expect([before, nextMonth()]).toContain(Date.parse(String(usage?.resetsAt)));

      // Waits until all usage is settled. Then simulates the next month by moving this month's usage to the previous month.
      expect(await waitForUsedMessages(system, tenant)).toBe(101);
      const moveToLastMonth = "UPDATE quota.usage SET month = month - interval '1 month' WHERE workspace_id = $1";
      await queryFirstRow(system.database, moveToLastMonth, [tenant.workspaceId]);
      expect(finishReasonOf(await api.chat(tenant))).toBe("stop");
      expect(await waitForUsedMessages(system, tenant)).toBe(1);
    });
  });

  describe("replies that nobody pays for", () => {
    /** Waits until a workspace has no holds, and returns today's unpaid replies. */
    const unpaidOf = async (tenant: Tenant) => {
      await expect.poll(async () => (await usageOf(tenant))?.held, { timeout: 10_000 }).toBe(0);
      return (await usageOf(tenant))?.unpaid;
    };

    /** Sends a chat, reads its first text and leaves. */
    async function readAndLeave(tenant: Tenant) {
      const leaving = new AbortController();
      const response = await api.openChat(tenant, {}, { signal: leaving.signal });
      for await (const { event } of eventsOf(response)) if (event === "token") break;
      leaving.abort();
    }

    test("a dropped reply is unpaid and counts no message, and above the bound the stream is error (busy) and done [D42/1-2]", async () => {
      const tenant = await createTenant(system.admin, { plan: "free", model: "openai:stall-after-3" });
      await readAndLeave(tenant);
      expect(await unpaidOf(tenant)).toBe(1);
      expect(await usageOf(tenant)).toMatchObject({ used: 0, unpaidLimit: 50 });
      await queryFirstRow(system.database, "UPDATE quota.usage SET unpaid = 50 WHERE workspace_id = $1", [
        tenant.workspaceId,
      ]);
      system.provider.reset();
      const session_id = randomUUID();
      const result = await api.chat(tenant, { session_id });
      expect(eventNames(result)).toEqual(["meta", "error", "done"]);
      expect(result.error).toEqual({ code: "busy", message: expect.not.stringMatching(/month|quota|limit/i) });
      expect(result.done).toMatchObject({ finish_reason: "error", tokens_in: 0, tokens_out: 0 });
      expect(system.provider.requests).toEqual([]);
      const { messages } = await readTranscript(system, tenant, session_id);
      expect(messages[1]).toMatchObject({ status: "error", error_message: "busy", content: "" });
      const token = await createMemberToken(system, tenant);
      expect((await api.playground(token, { bot_slug: tenant.botSlug })).error).toMatchObject({ code: "busy" });
    });

    test("a client holds a tenth of the month's messages, and others are served [D42/3]", async () => {
      const tenant = await createTenant(system.admin, { plan: "free", model: "openai:hang" });
      const quick = await addBot(system, tenant, "quick", "openai:tokens-2");
      const address = newClientAddress();
      const leaving = new AbortController();
      const hanging = Array.from({ length: 10 }, () =>
        api.openChat(tenant, {}, { address, signal: leaving.signal }).catch(() => undefined),
      );
      await expect.poll(async () => (await usageOf(tenant))?.held, { timeout: 10_000 }).toBe(10);
      expect((await api.chat(quick, {}, { "x-forwarded-for": address })).error).toMatchObject({ code: "busy" });
      expect(finishReasonOf(await api.chat(quick))).toBe("stop");
      leaving.abort();
      await Promise.all(hanging);
    });

    test("after 20 unpaid replies in an hour, a client gets 429, but a repeated message gets its reply [D42/4]", async () => {
      const tenant = await createTenant(system.admin, { plan: "scale", model: "openai:echo" });
      const { workspaceId, botSlug } = tenant;
      await system.admin.moderation.addPattern({
        workspaceId,
        botSlug,
        pattern: "late$",
        reason: "late",
        fallback: "No.",
        appliesTo: "reply",
      });
      const address = newClientAddress();
      const [first, session_id] = [{ "idempotency-key": randomUUID() }, randomUUID()];
      const blocked = await api.chat(
        tenant,
        { session_id, message: "too late" },
        { "x-forwarded-for": address, ...first },
      );
      expect(finishReasonOf(blocked)).toBe("blocked");
      for (let i = 1; i < 20; i++) await api.chat(tenant, { message: "too late" }, { "x-forwarded-for": address });
      const refused = await api.refusedChat(tenant, {}, { address });
      expect([refused.status, refused.body]).toEqual([429, { error: "rate_limited" }]);
      const repeated = await api.chat(
        tenant,
        { session_id, message: "too late" },
        { "x-forwarded-for": address, ...first },
      );
      expect(finishReasonOf(repeated)).toBe("blocked");
      expect(finishReasonOf(await api.chat(tenant))).toBe("stop");
    });

    test("in the playground, unpaid replies are counted by user [D42/5]", async () => {
      const tenant = await createTenant(system.admin, { plan: "scale", model: "openai:echo" });
      const { workspaceId, botSlug } = tenant;
      await system.admin.moderation.addPattern({
        workspaceId,
        botSlug,
        pattern: "late$",
        reason: "late",
        fallback: "No.",
        appliesTo: "reply",
      });
      const token = await createMemberToken(system, tenant);
      for (let i = 0; i < 20; i++) await api.playground(token, { bot_slug: botSlug, message: "too late" });
      const refused = await api.refusedPlayground(token, { bot_slug: botSlug });
      expect([refused.status, refused.body]).toEqual([429, { detail: "rate_limited" }]);
    });
  });
}
