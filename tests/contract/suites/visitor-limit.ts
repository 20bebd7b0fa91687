// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { describeWith, startRedis, type TestRedis } from "@parley/test-support";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { retryIfRedisIsTooSlow } from "../../system/shared-limits.ts";
import type { Tenant } from "../../system/system.ts";
import { newClientAddress, signVisitorToken } from "../../system/visitors.ts";
import { type Api, type ApiResponse, createApi } from "../support/api.ts";
import {
  addBot,
  type ContractSystem,
  createMemberToken,
  createVisitorWorkspace,
  formatError,
  formatRefusal,
  type VisitorWorkspace,
} from "../support/contract-system.ts";

const LIMITED = formatError(429, "visitor_limit");

export function visitorLimitSuite(shared: () => ContractSystem): void {
  let { system, api, tenant, secret } = {} as VisitorWorkspace;

  beforeAll(async () => {
    ({ system, api, tenant, secret } = await createVisitorWorkspace(shared()));
  });
  beforeEach(() => system.provider.reset());

  async function addLimitedBot(visitorMessagesPerDay: number): Promise<Tenant> {
    const bot = await addBot(system, tenant, randomUUID());
    const { workspaceId, botSlug: slug } = bot;
    await system.admin.bots.updateBot({ workspaceId, slug, changes: { visitorMessagesPerDay } });
    return bot;
  }
  const tokenOf = async (sub: string) => ({ visitor_token: await signVisitorToken(secret, sub) });
  /** Sends a message that is accepted. */
  async function send(bot: Tenant, fields: object, headers: Record<string, string> = {}) {
    const reply = await api.chat(bot, { ...fields }, headers);
    expect(reply.done?.finish_reason).toBe("stop");
    return reply;
  }
  const from = (address: string) => ({ "x-forwarded-for": address });

  function expectLimited(answer: ApiResponse, limit: number): void {
    expect(formatRefusal(answer)).toBe(LIMITED);
    const { headers } = answer;
    const seconds = Number(headers.get("retry-after"));
    expect(seconds).toBeGreaterThan(86_000);
    expect(seconds).toBeLessThanOrEqual(86_400);
    expect(headers.get("ratelimit-policy")).toBe(`"visitor";q=${limit};w=86400`);
    expect(headers.get("ratelimit")).toBe(`"visitor";r=0;t=${seconds}`);
  }

  test("a verified visitor's messages count over all sessions; above the limit, nothing is called or stored [D47/1] [D47/2]", async () => {
    const bot = await addLimitedBot(2);
    for (let i = 0; i < 2; i++) await send(bot, await tokenOf("ada"));
    const calls = system.provider.requests.length;
    const session_id = randomUUID();
    expectLimited(await api.refusedChat(bot, { session_id, ...(await tokenOf("ada")) }), 2);
    const headers = { "idempotency-key": randomUUID() };
    expectLimited(await api.refusedChat(bot, { session_id, ...(await tokenOf("ada")) }, { headers }), 2);
    expect(system.provider.requests).toHaveLength(calls);
    expect((await api.exportTranscript(await createMemberToken(system, tenant), session_id)).status).toBe(404);
    await send(bot, await tokenOf("bob"));
    await send(bot, { visitor_id: "ada" });
  });

  test("other messages count in their session and their address, whichever is full first [D47/2]", async () => {
    const bot = await addLimitedBot(2);
    const session_id = randomUUID();
    const [first, second] = [newClientAddress(), newClientAddress()];
    await send(bot, { session_id }, from(first));
    await send(bot, { session_id, visitor_id: "ada" }, from(second));
    expectLimited(await api.refusedChat(bot, { session_id }), 2);
    expectLimited(await api.refusedChat(bot, { session_id, visitor_id: "bob" }, { address: first }), 2);
    await send(bot, {}, from(first));
    expectLimited(await api.refusedChat(bot, {}, { address: first }), 2);
    await send(bot, {}, from(second));
  });

  test("a repeated idempotency key and a Last-Event-ID cost nothing [D47/3]", async () => {
    const bot = await addLimitedBot(2);
    const [session_id, address] = [randomUUID(), newClientAddress()];
    const headers = { ...from(address), "idempotency-key": randomUUID() };
    const { text, events } = await send(bot, { session_id }, headers);
    const [, token] = events;
    const resume = { ...headers, "last-event-id": token?.id ?? "" };
    const rest = text.slice(String(token?.data.text).length);
    for (let i = 0; i < 2; i++) {
      expect((await send(bot, { session_id }, headers)).text).toBe(text);
      expect((await send(bot, { session_id }, resume)).text).toBe(rest);
    }
    await send(bot, { session_id }, { ...from(address), "idempotency-key": randomUUID() });
    expectLimited(await api.refusedChat(bot, { session_id }, { address }), 2);
    expect((await send(bot, { session_id }, headers)).text).toBe(text);
    expect((await send(bot, { session_id }, resume)).text).toBe(rest);
  });

  test("the refusals of the token, the session and the key come first and do not count [D47/4]", async () => {
    const bot = await addLimitedBot(1);
    const [verified, claimed, keyed] = [randomUUID(), randomUUID(), randomUUID()];
    const [full, fresh] = [newClientAddress(), newClientAddress()];
    const headers = { "idempotency-key": randomUUID() };
    await send(bot, { session_id: verified, ...(await tokenOf("ada")) });
    await send(bot, { session_id: claimed, visitor_id: "claimed" });
    await send(bot, { session_id: keyed }, { ...from(full), ...headers });
    await send(bot, await tokenOf("bob"));
    for (const address of [full, fresh]) {
      const refusals = [
        await api.refusedChat(bot, { session_id: verified, visitor_token: "invalid" }, { address }),
        await api.refusedChat(bot, { session_id: verified }, { address }),
        await api.refusedChat(bot, { session_id: verified }, { address, headers }),
        await api.refusedChat(bot, { session_id: claimed, ...(await tokenOf("bob")) }, { address }),
        await api.refusedChat(bot, { session_id: claimed, ...(await tokenOf("eve")) }, { address, headers }),
        await api.refusedChat(bot, { session_id: keyed, message: "another" }, { address, headers }),
      ];
      expect(refusals.map(formatRefusal)).toEqual([
        formatError(401, "invalid_visitor_token"),
        ...Array(2).fill(formatError(404, "session_not_found")),
        ...Array(2).fill(formatError(409, "visitor_mismatch")),
        formatError(409, "idempotency_key_reused"),
      ]);
    }
    expectLimited(await api.refusedChat(bot, {}, { address: full }), 1);
    await send(bot, {}, from(fresh));
    await send(bot, await tokenOf("eve"));
  });

  test("the playground has no limit, and the configuration does not have it [D47/5]", async () => {
    const bot = await addLimitedBot(1);
    const token = await createMemberToken(system, tenant);
    const fields = { bot_slug: bot.botSlug, session_id: randomUUID() };
    for (let i = 0; i < 2; i++) expect((await api.playground(token, fields)).done?.finish_reason).toBe("stop");
    expect((await api.getConfig(bot)).text).not.toMatch(/per_?day/i);
  });

  describeWith("redis-server", "with Redis", () => {
    let redis: TestRedis;
    beforeAll(async () => {
      redis = await startRedis();
    });
    afterAll(() => redis.stop());

    test("of 200 first messages of a visitor at once, two edges accept exactly 20 [D47/6]", async () => {
      const processes = [
        await system.startEdge({ REDIS_URL: redis.url }),
        await system.startEdge({ REDIS_URL: redis.url }),
      ];
      const edges = await Promise.all(processes.map(({ port }) => createApi(`http://127.0.0.1:${port}`)));
      const bot = await addLimitedBot(20);
      const { replies, called } = await retryIfRedisIsTooSlow(processes, async () => {
        const visitor = await tokenOf(randomUUID());
        const calls = system.provider.requests.length;
        const requests = Array.from({ length: 200 }, async (_, i) => {
          const response = await (edges[i % 2] as Api).openChat(bot, visitor);
          return { status: response.status, text: await response.text() };
        });
        return { replies: await Promise.all(requests), called: system.provider.requests.length - calls };
      });
      expect([200, 429].map((status) => replies.filter((each) => each.status === status).length)).toEqual([20, 180]);
      const failed = replies.map(({ text }) => text).filter((text) => text.includes("event: error"));
      expect({ called, failed }).toEqual({ called: 20, failed: [] });
    });
  });
}
