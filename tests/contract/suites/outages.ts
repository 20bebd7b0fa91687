// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { Client } from "pg";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { readChat } from "../../system/chat.ts";
import type { ServiceProcess, ServiceWithDatabase } from "../../system/processes.ts";
import { createTenant, serviceDatabaseUrl, type Tenant } from "../../system/system.ts";
import { type Api, type ApiResponse, bearer } from "../support/api.ts";
import {
  addBot,
  addKey,
  type ContractSystem,
  createMemberToken,
  formatDetail,
  formatError,
  formatRefusal,
  memberClaims,
  readTranscript,
} from "../support/contract-system.ts";
import { eventNames, eventsOf } from "../support/stream.ts";

export function outagesSuite(shared: () => ContractSystem): void {
  let system: ContractSystem;
  let api: Api;
  let tenant: Tenant;
  let slow: Tenant;
  let token: string;

  beforeAll(async () => {
    system = shared();
    ({ api } = system);
    tenant = await createTenant(system.admin);
    slow = await addBot(system, tenant, "slow", "openai:tokens-50-every-100");
    token = await createMemberToken(system, tenant, "second-owner");
  });
  beforeEach(() => system.provider.reset());

  /** Runs `operation` while a service is down. Then starts this service and no other, and expects a chat to succeed. */
  async function withServiceDown(service: ServiceProcess, operation: () => Promise<void>): Promise<void> {
    await service.kill9();
    try {
      await operation();
    } finally {
      await service.start();
    }
    await expect.poll(() => chatAndGetOutcome(tenant), { timeout: 10_000 }).toBe("stop");
  }

  /** Returns the chat's finish reason, or the HTTP status if the chat was refused. */
  async function chatAndGetOutcome(bot: Tenant): Promise<unknown> {
    const response = await api.openChat(bot);
    if (response.status === 200) return (await readChat(response)).done?.finish_reason;
    await response.text();
    return response.status;
  }

  const doctorCall = ({ publicKey: public_key, origin }: Tenant) => ({
    method: "POST",
    path: "/api/doctor/",
    headers: { origin },
    body: { public_key },
  });

  function expectUnavailable(answer: ApiResponse, refusal: string): void {
    expect(formatRefusal(answer)).toBe(refusal);
    expect(answer.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
  }

  async function measureMs<T>(work: Promise<T>): Promise<[T, number]> {
    const startedAt = performance.now();
    return [await work, performance.now() - startedAt];
  }

  test("without the conversation service, requests that need it get 503, and an open stream ends with done [D6/1-2] [D6/5] [D19/1] [D53/12]", async () => {
    const [cachedKeyTenant, uncachedKeyTenant] = [tenant, await addKey(system, tenant, ["shop.example"])];
    await api.chat(cachedKeyTenant);
    const openEvents = eventsOf(await api.openChat(slow));
    while ((await openEvents.next()).value?.event !== "token");
    await withServiceDown(system.conversation, async () => {
      const unavailable = formatError(503, "unavailable");
      for (const each of [cachedKeyTenant, uncachedKeyTenant]) {
        const [answer, ms] = await measureMs(api.refusedChat(each));
        expectUnavailable(answer, unavailable);
        expect(ms).toBeLessThan(6_000);
      }
      expectUnavailable(await api.getConfig(uncachedKeyTenant), unavailable);
      expectUnavailable(
        await api.rateMessage(uncachedKeyTenant, { session_id: randomUUID(), message_id: 1, rating: "up" }),
        unavailable,
      );
      for (const options of [{}, { session: randomUUID() }])
        expectUnavailable(await api.getHistory(uncachedKeyTenant, "x", options), unavailable);
      expectUnavailable(await api.call(doctorCall(uncachedKeyTenant)), unavailable);
      const stop = { session_id: randomUUID(), message_id: 1 };
      const post = { method: "POST", headers: { origin: cachedKeyTenant.origin, authorization: `Bearer ${token}` } };
      expectUnavailable(
        await api.call({ ...post, path: "/api/chat/stop/", body: { public_key: cachedKeyTenant.publicKey, ...stop } }),
        unavailable,
      );
      const solution = { public_key: uncachedKeyTenant.publicKey, session_id: stop.session_id, solution: "x" };
      expectUnavailable(await api.call({ ...post, path: "/api/chat/challenge/", body: solution }), unavailable);
      const { publicKey: public_key } = uncachedKeyTenant;
      const { session_id } = stop;
      expectUnavailable(
        await api.call({ ...post, path: "/api/chat/handoff/", body: { public_key, session_id } }),
        unavailable,
      );
      const left = { public_key, session_id, email: "ada@example.com", message: "Hello" };
      expectUnavailable(await api.call({ ...post, path: "/api/chat/contact/", body: left }), unavailable);
      const live = `/api/chat/live/?${new URLSearchParams({ public_key, session_id })}`;
      expectUnavailable(await api.call({ path: live, headers: { origin: tenant.origin } }), unavailable);
      expectUnavailable(
        await api.call({ ...post, path: "/api/chat/playground/stop/", body: { bot_slug: tenant.botSlug, ...stop } }),
        formatDetail(503, "unavailable"),
      );
      expectUnavailable(await api.exportTranscript(token, randomUUID()), formatDetail(503, "unavailable"));
      expectUnavailable(
        await api.refusedPlayground(token, { bot_slug: tenant.botSlug }),
        formatDetail(503, "unavailable"),
      );
      const ownerToken = await system.sso.sign({ ...memberClaims(system, tenant), roles: "parley-owner" });
      const agent = { id: "a1", name: "Anna" };
      const ownerCalls = [
        { path: "/api/handoffs/" },
        { path: "/api/handoffs/live/" },
        { method: "POST", path: `/api/conversations/${session_id}/handoff/`, body: { action: "take", agent } },
        { method: "POST", path: `/api/conversations/${session_id}/messages/`, body: { text: "Hi", agent } },
        { path: `/api/conversations/${session_id}/notes/` },
        { method: "POST", path: `/api/conversations/${session_id}/notes/`, body: { text: "Hi", agent } },
        { path: "/api/conversations/" },
        { path: "/api/conversations/export.ndjson" },
        { path: "/api/conversations/export.csv?cursor=1-1.00000000-0000-0000-0000-000000000000" },
        { method: "DELETE", path: `/api/conversations/${randomUUID()}/` },
        { method: "POST", path: "/api/conversations/erase/", body: { visitor_id: "v" } },
      ];
      for (const call of ownerCalls)
        expectUnavailable(await api.call({ ...call, headers: bearer(ownerToken) }), formatDetail(503, "unavailable"));
    });
    // The stream ends with `stop` if the service restarted in time for the edge to store the outcome, and with `error` otherwise.
    let last: unknown;
    for await (const { event, data } of openEvents) last = { event, data };
    expect(last).toMatchObject({ event: "done", data: { finish_reason: expect.stringMatching(/^(stop|error)$/) } });
  });

  test("without the quota service a stream ends with error and done, and no provider is called [D6/3] [D6/5] [D18/5]", async () => {
    await withServiceDown(system.quota, async () => {
      const [result, ms] = await measureMs(api.chat(tenant));
      expect(eventNames(result)).toEqual(["meta", "error", "done"]);
      expect(result.error).toMatchObject({ code: "internal_error" });
      expect(result.done).toMatchObject({ finish_reason: "error" });
      expect(ms).toBeLessThan(6_000);
      expect(system.provider.requests).toEqual([]);
    });
  });

  test("without llm-proxy a stream ends with error and done, also when llm-proxy dies between tokens [D6/4-5] [D18/5] [D19/1]", async () => {
    const session_id = randomUUID();
    const response = await api.openChat(slow, { session_id });
    const openEvents = eventsOf(response);
    while ((await openEvents.next()).value?.event !== "token");
    await withServiceDown(system.llm, async () => {
      const rest: string[] = [];
      for await (const { event } of openEvents) rest.push(event);
      expect(rest.slice(-2)).toEqual(["error", "done"]);
      const [result, ms] = await measureMs(api.chat(tenant));
      expect(eventNames(result)).toEqual(["meta", "error", "done"]);
      expect(result.done).toMatchObject({ finish_reason: "error" });
      expect(ms).toBeLessThan(6_000);
    });
    const { messages } = await readTranscript(system, slow, session_id);
    expect(messages.at(-1)).toMatchObject({ status: "error", content: expect.stringMatching(/^t0 /) });
  });

  test("after the services are back no hold remains, and usage equals the completed replies [D6/5] [8/9-10]", async () => {
    const { workspaceId } = tenant;
    const audit = async () => (await system.admin.usageAudit.auditUsage({ workspaceId })).workspaces[0];
    await expect.poll(async () => (await audit())?.held, { timeout: 15_000 }).toBe(0);
    const { doneMessages, used, ledger } = (await audit()) ?? {};
    expect(used).toBe(doneMessages);
    expect(ledger).toBe(doneMessages);
    expect(used).toBeGreaterThan(0);
  });

  describe("database roles", () => {
    const tables: Record<ServiceWithDatabase, string> = {
      conversation: "messages",
      quota: "usage",
      "llm-proxy": "calls",
    };
    const schemaOf = (service: ServiceWithDatabase) => (service === "llm-proxy" ? "llm" : service);
    const services = Object.keys(tables) as ServiceWithDatabase[];

    test("a service's database role has no access to the other services' schemas [H/10]", async () => {
      // Behind a router, the sharded database would refuse these statements, because they have no key.
      const { url } = system.shards?.shards[0] ?? system.database;
      for (const service of services) {
        const client = new Client({ connectionString: serviceDatabaseUrl(url, service) });
        await client.connect();
        for (const other of services) {
          const table = `${schemaOf(other)}.${tables[other]}`;
          const read = client.query(`SELECT 1 FROM ${table} LIMIT 1`);
          if (other === service) await expect(read, `${service} on ${table}`).resolves.toBeDefined();
          else {
            await expect(read, `${service} on ${table}`).rejects.toMatchObject({ code: INSUFFICIENT_PRIVILEGE });
            for (const sql of [`DELETE FROM ${table}`, `CREATE TABLE ${schemaOf(other)}.mine ()`])
              await expect(client.query(sql), sql).rejects.toMatchObject({ code: INSUFFICIENT_PRIVILEGE });
          }
        }
        await client.end();
      }
    });
  });
}

const INSUFFICIENT_PRIVILEGE = "42501";
