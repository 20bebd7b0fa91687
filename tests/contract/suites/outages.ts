import { randomUUID } from "node:crypto";
import { Client } from "pg";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { readChat } from "../../system/chat.ts";
import type { ServiceProcess, ServiceWithDatabase } from "../../system/processes.ts";
import { createTenant, serviceDatabaseUrl, type Tenant } from "../../system/system.ts";
import type { Api, ApiResponse } from "../support/api.ts";
import {
  addBot,
  addKey,
  type ContractSystem,
  detailOf,
  errorOf,
  ownerToken,
  refusal,
  transcript,
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
    token = await ownerToken(system, tenant, "second-owner");
  });
  beforeEach(() => system.provider.reset());

  /** Kills a service, runs `run` and starts the service again. Then expects a chat to succeed without a restart of the other services. */
  async function without(service: ServiceProcess, run: () => Promise<void>): Promise<void> {
    await service.kill9();
    try {
      await run();
    } finally {
      await service.start();
    }
    await expect.poll(() => finishOf(tenant), { timeout: 10_000 }).toBe("stop");
  }

  /** Sends a chat and returns its finish reason, or its status if it was refused. */
  async function finishOf(on: Tenant): Promise<unknown> {
    const response = await api.openChat(on);
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

  function expectUnavailable(answer: ApiResponse, body: string): void {
    expect(refusal(answer)).toBe(body);
    expect(answer.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
  }

  async function timed<T>(work: Promise<T>): Promise<[T, number]> {
    const startedAt = performance.now();
    return [await work, performance.now() - startedAt];
  }

  test("without the conversation service every request gets 503, and an open stream ends with done [D6/1-2] [D6/5] [D19/1]", async () => {
    const [cached, uncached] = [tenant, await addKey(system, tenant, ["shop.example"])];
    await api.chat(cached);
    const openEvents = eventsOf(await api.openChat(slow));
    while ((await openEvents.next()).value?.event !== "token");
    await without(system.conversation, async () => {
      const unavailable = errorOf(503, "unavailable");
      for (const key of [cached, uncached]) {
        const [answer, ms] = await timed(api.refusedChat(key));
        expectUnavailable(answer, unavailable);
        expect(ms).toBeLessThan(6_000);
      }
      expectUnavailable(await api.config(uncached), unavailable);
      expectUnavailable(
        await api.rate(uncached, { session_id: randomUUID(), message_id: 1, rating: "up" }),
        unavailable,
      );
      expectUnavailable(await api.call(doctorCall(uncached)), unavailable);
      expectUnavailable(await api.exported(token, randomUUID()), detailOf(503, "unavailable"));
      expectUnavailable(await api.refusedPlayground(token, { bot_slug: tenant.botSlug }), detailOf(503, "unavailable"));
    });
    // If the edge could store the turn's outcome after the service restarted, the stream ends with `stop`. Otherwise it ends with `error`.
    let last: unknown;
    for await (const { event, data } of openEvents) last = { event, data };
    expect(last).toMatchObject({ event: "done", data: { finish_reason: expect.stringMatching(/^(stop|error)$/) } });
  });

  test("without the quota service a stream ends with error and done, and no provider is called [D6/3] [D6/5] [D18/5]", async () => {
    await without(system.quota, async () => {
      const [result, ms] = await timed(api.chat(tenant));
      expect(eventNames(result)).toEqual(["meta", "error", "done"]);
      expect(result.error).toMatchObject({ code: "internal_error" });
      expect(result.done).toMatchObject({ finish_reason: "error" });
      expect(ms).toBeLessThan(6_000);
      expect(system.provider.requests).toEqual([]);
    });
  });

  test("without llm-proxy a stream ends with error and done, also when it dies between tokens [D6/4-5] [D18/5] [D19/1]", async () => {
    const session_id = randomUUID();
    const response = await api.openChat(slow, { session_id });
    const openEvents = eventsOf(response);
    while ((await openEvents.next()).value?.event !== "token");
    await without(system.llm, async () => {
      const rest: string[] = [];
      for await (const { event } of openEvents) rest.push(event);
      expect(rest.slice(-2)).toEqual(["error", "done"]);
      const [result, ms] = await timed(api.chat(tenant));
      expect(eventNames(result)).toEqual(["meta", "error", "done"]);
      expect(result.done).toMatchObject({ finish_reason: "error" });
      expect(ms).toBeLessThan(6_000);
    });
    const { messages } = await transcript(system, slow, session_id);
    expect(messages.at(-1)).toMatchObject({ status: "error", content: expect.stringMatching(/^t0 /) });
  });

  test("after the services are back no hold remains, and usage equals the completed replies [D6/5] [8/9-10]", async () => {
    const { workspaceId } = tenant;
    const audit = async () => (await system.admin.audit.audit({ workspaceId })).workspaces[0];
    await expect.poll(async () => (await audit())?.held, { timeout: 15_000 }).toBe(0);
    const { doneMessages, used, ledger } = (await audit()) ?? {};
    expect(used).toBe(doneMessages);
    expect(ledger).toBe(doneMessages);
    expect(used).toBeGreaterThan(0);
  });

  describe("database roles", () => {
    const schemas: Record<ServiceWithDatabase, string> = {
      conversation: "messages",
      quota: "usage",
      "llm-proxy": "calls",
    };
    const schemaOf = (owner: ServiceWithDatabase) => (owner === "llm-proxy" ? "llm" : owner);
    const owners = Object.keys(schemas) as ServiceWithDatabase[];

    test("a service's database role has no access to the other services' schemas [H/10]", async () => {
      for (const owner of owners) {
        const client = new Client({ connectionString: serviceDatabaseUrl(system.database.url, owner) });
        await client.connect();
        for (const other of owners) {
          const table = `${schemaOf(other)}.${schemas[other]}`;
          const read = client.query(`SELECT 1 FROM ${table} LIMIT 1`);
          if (other === owner) await expect(read, `${owner} on ${table}`).resolves.toBeDefined();
          else {
            await expect(read, `${owner} on ${table}`).rejects.toMatchObject({ code: INSUFFICIENT_PRIVILEGE });
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
