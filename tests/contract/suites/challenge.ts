// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { describeWith, startRedis, type TestRedis } from "@parley/test-support";
import { type Challenge, solveChallenge } from "altcha-lib";
import { deriveKey } from "altcha-lib/algorithms/pbkdf2";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { readMetric } from "../../system/metrics.ts";
import { retryIfRedisIsTooSlow } from "../../system/shared-limits.ts";
import { createTenant, type Tenant } from "../../system/system.ts";
import { newClientAddress, signVisitorToken } from "../../system/visitors.ts";
import { type Api, type ApiResponse, createApi } from "../support/api.ts";
import {
  addBot,
  type ContractSystem,
  createMemberToken,
  formatError,
  formatRefusal,
  MALFORMED_KEY,
  waitForUsedMessages,
} from "../support/contract-system.ts";

type Visitor = { session_id: string; address: string };

const PATH = "/api/chat/challenge/";

export function challengeSuite(shared: () => ContractSystem): void {
  let system: ContractSystem;
  let api: Api;
  let always: Tenant;

  beforeAll(async () => {
    system = shared();
    ({ api } = system);
    always = await createChallengingTenant("always");
  });
  beforeEach(() => system.provider.reset());

  async function createChallengingTenant(challenge: "suspicious" | "always", plan = "scale"): Promise<Tenant> {
    const tenant = await createTenant(system.admin, { plan });
    await system.admin.keys.updateKey({ publicKey: tenant.publicKey, challenge });
    return tenant;
  }
  const newVisitor = (): Visitor => ({ session_id: randomUUID(), address: newClientAddress() });

  function expectAsked(answer: ApiResponse): Challenge {
    const { error, challenge, ...rest } = answer.body as { error: string; challenge: Challenge };
    expect([answer.status, error, rest]).toEqual([403, "challenge_required", {}]);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    return challenge;
  }
  const refused = (tenant: Tenant, { address, ...fields }: Visitor & Record<string, unknown>, headers = {}, at = api) =>
    at.refusedChat(tenant, fields, { address, headers });
  async function send(
    tenant: Tenant,
    { address, ...fields }: Visitor & Record<string, unknown>,
    headers = {},
    at = api,
  ) {
    const reply = await at.chat(tenant, fields, { "x-forwarded-for": address, ...headers });
    expect(reply.done?.finish_reason).toBe("stop");
    return reply;
  }
  async function solve(challenge: Challenge): Promise<string> {
    const solution = await solveChallenge({ challenge, deriveKey });
    return Buffer.from(JSON.stringify({ challenge, solution })).toString("base64");
  }
  const post = (tenant: Tenant, { address, session_id }: Visitor, solution: unknown, at = api) =>
    at.call({
      method: "POST",
      path: PATH,
      headers: { origin: tenant.origin },
      address,
      body: { public_key: tenant.publicKey, session_id, solution },
    });
  async function buyPass(tenant: Tenant, visitor: Visitor): Promise<{ challenge_pass: string }> {
    const answer = await post(tenant, visitor, await solve(expectAsked(await refused(tenant, visitor))));
    expect(answer.status).toBe(200);
    const { challenge_pass, expires_at, messages } = answer.body as Record<string, string>;
    const hours = (Date.parse(String(expires_at)) - Date.now()) / 3_600_000;
    expect([hours > 23.9, hours <= 24, messages]).toEqual([true, true, 20]);
    return { challenge_pass: String(challenge_pass) };
  }

  test("a message without a pass calls no model, stores nothing and uses no message [D48/1]", async () => {
    const tenant = await createChallengingTenant("always");
    const calls = system.provider.requests.length;
    const asked = Array.from({ length: 50 }, async (_, i) => {
      const visitor = newVisitor();
      // A program can forge the Origin, as this client does.
      const headers = i % 2 === 0 ? {} : { "idempotency-key": randomUUID() };
      expectAsked(await refused(tenant, visitor, headers));
      return visitor.session_id;
    });
    const sessions = await Promise.all(asked);
    expect(system.provider.requests).toHaveLength(calls);
    expect(await waitForUsedMessages(system, tenant)).toBe(0);
    const token = await createMemberToken(system, tenant);
    for (const each of sessions.slice(0, 3)) expect((await api.exportTranscript(token, each)).status).toBe(404);
    const { sessions: stored } = await system.admin.sessions.listSessions({ workspaceId: tenant.workspaceId });
    expect(stored).toEqual([]);
  });

  test("without the setting, a key asks for nothing, and changes apply within 5 s [D48/1]", async () => {
    const tenant = await createTenant(system.admin);
    await send(tenant, newVisitor());
    await send(tenant, { ...newVisitor(), challenge_pass: "x" });
    const { workspaceId, botSlug } = tenant;
    const domains = [new URL(tenant.origin).host];
    const { key } = await system.admin.keys.createKey({ workspaceId, botSlug, domains, challenge: "always" });
    expectAsked(await refused({ ...tenant, publicKey: key?.publicKey ?? "" }, newVisitor()));
    await system.admin.keys.updateKey({ publicKey: tenant.publicKey, challenge: "always" });
    const readStatus = async () => {
      const response = await api.openChat(tenant);
      await response.text();
      return response.status;
    };
    await expect.poll(readStatus, { timeout: 5_000, interval: 200 }).toBe(403);
  });

  test("the first correct solution buys a pass for 20 messages of its session [D48/2] [D48/3]", async () => {
    const visitor = newVisitor();
    const solution = await solve(expectAsked(await refused(always, visitor)));
    const passes = await Promise.all([1, 2, 3].map(() => post(always, visitor, solution)));
    expect(passes.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 403, 403]);
    const bought = passes.find(({ status }) => status === 200)?.body as { challenge_pass: string };
    const pass = { challenge_pass: bought.challenge_pass };
    for (let i = 0; i < 20; i++) await send(always, { ...visitor, ...pass });
    expectAsked(await refused(always, { ...visitor, ...pass }));
    await send(always, { ...visitor, ...(await buyPass(always, visitor)) });
  });

  test("a solution and a pass of another key, session or address are refused with a new challenge [D48/2] [D48/3]", async () => {
    const visitor = newVisitor();
    const otherKey = await addBot(system, always, randomUUID());
    await system.admin.keys.updateKey({ publicKey: otherKey.publicKey, challenge: "always" });
    const others: [Tenant, Visitor][] = [
      [otherKey, visitor],
      [always, { ...visitor, session_id: randomUUID() }],
      [always, { ...visitor, address: newClientAddress() }],
    ];
    const solution = await solve(expectAsked(await refused(always, visitor)));
    for (const [tenant, each] of others) expectAsked(await post(tenant, each, solution));
    const pass = await buyPass(always, visitor);
    for (const [tenant, each] of others) expectAsked(await refused(tenant, { ...each, ...pass }));
    for (const invalid of ["x", `${pass.challenge_pass.slice(0, -1)}!`, ""])
      expectAsked(await refused(always, { ...visitor, challenge_pass: invalid }));
    for (const invalid of ["x", "bm90IGpzb24=", solution.slice(0, -8)]) {
      const next = expectAsked(await post(always, visitor, invalid));
      expect((await post(always, visitor, await solve(next))).status).toBe(200);
    }
    await send(always, { ...visitor, ...pass });
    // The same session in upper case is the same session.
    await send(always, { ...visitor, ...pass, session_id: visitor.session_id.toUpperCase() });
  });

  test("an IPv6 client may change its address within its /64 [D48/3]", async () => {
    const visitor = { session_id: randomUUID(), address: "2001:db8:77:1::1" };
    const pass = await buyPass(always, visitor);
    await send(always, { ...visitor, ...pass, address: "2001:db8:77:1:2:3:4:5" });
    expectAsked(await refused(always, { ...visitor, ...pass, address: "2001:db8:77:2::1" }));
  });

  test("the refusals of the token, the session and the key come first, and the limit of a visitor's messages after it [D48/4] [D48/7]", async () => {
    const tenant = await createChallengingTenant("always");
    const { secret } = await system.admin.identityKeys.createIdentityKey({ workspaceId: tenant.workspaceId });
    const tokenOf = async (sub: string) => ({ visitor_token: await signVisitorToken(secret, sub) });
    const { workspaceId, botSlug: slug } = tenant;
    await system.admin.bots.updateBot({ workspaceId, slug, changes: { visitorMessagesPerDay: 1 } });
    const [verified, keyed] = [newVisitor(), newVisitor()];
    const headers = { "idempotency-key": randomUUID() };
    expectAsked(await refused(tenant, { ...verified, ...(await tokenOf("ada")) }));
    const pass = await buyPass(tenant, verified);
    await send(tenant, { ...verified, ...pass, ...(await tokenOf("ada")) });
    await send(tenant, { ...keyed, ...(await buyPass(tenant, keyed)) }, headers);
    const refusals = [
      await refused(tenant, { ...verified, visitor_token: "invalid" }),
      await refused(tenant, verified),
      await refused(tenant, { ...keyed, message: "another" }, headers),
      await refused(tenant, { ...verified, ...pass, ...(await tokenOf("ada")) }),
    ];
    expect(refusals.map(formatRefusal)).toEqual([
      formatError(401, "invalid_visitor_token"),
      formatError(404, "session_not_found"),
      formatError(409, "idempotency_key_reused"),
      formatError(429, "visitor_limit"),
    ]);
    expectAsked(await refused(tenant, { ...verified, ...(await tokenOf("ada")) }));
  });

  test("a repeated idempotency key, a Last-Event-ID, a stop, a rating and the playground need no pass and use none [D48/5]", async () => {
    const visitor = newVisitor();
    const pass = await buyPass(always, visitor);
    const headers = { "idempotency-key": randomUUID() };
    const { text, events, meta } = await send(always, { ...visitor, ...pass }, headers);
    const [, token] = events;
    const rest = text.slice(String(token?.data.text).length);
    for (let i = 0; i < 25; i++) {
      expect((await send(always, { ...visitor, ...pass }, headers)).text).toBe(text);
      expect((await send(always, visitor, headers)).text).toBe(text);
      visitor.address = newClientAddress();
    }
    expect((await send(always, visitor, { ...headers, "last-event-id": token?.id ?? "" })).text).toBe(rest);
    const fields = { session_id: visitor.session_id, message_id: meta?.message_id };
    expect((await api.rateMessage(always, { ...fields, rating: "up" })).status).toBe(204);
    const stop = { method: "POST", path: "/api/chat/stop/", headers: { origin: always.origin } };
    expect((await api.call({ ...stop, body: { public_key: always.publicKey, ...fields } })).status).toBe(200);
    expect((await api.getConfig(always)).status).toBe(200);
    const member = await createMemberToken(system, always);
    expect((await api.playground(member, { bot_slug: always.botSlug })).done?.finish_reason).toBe("stop");
  });

  test("`suspicious` asks from the 21st message of an address within an hour on [D48/6]", async () => {
    const tenant = await createChallengingTenant("suspicious");
    const { address } = newVisitor();
    const fromAddress = () => ({ session_id: randomUUID(), address });
    for (let i = 0; i < 20; i++) await send(tenant, fromAddress());
    const visitor = fromAddress();
    expectAsked(await refused(tenant, visitor));
    await send(tenant, newVisitor());
    await send(tenant, { ...visitor, ...(await buyPass(tenant, visitor)) });
    expectAsked(await refused(tenant, fromAddress()));
  });

  test("`suspicious` asks everybody when the workspace spends more than 20 messages of a small month within ten minutes [D48/6]", async () => {
    const tenant = await createChallengingTenant("suspicious", "free");
    for (let i = 0; i < 20; i++) await send(tenant, newVisitor());
    const visitor = newVisitor();
    expectAsked(await refused(tenant, visitor));
    expect(await waitForUsedMessages(system, tenant)).toBe(20);
    await send(tenant, { ...visitor, ...(await buyPass(tenant, visitor)) });
  });

  describe("the endpoint of solutions", () => {
    const body = () => ({ public_key: always.publicKey, session_id: randomUUID(), solution: "x" });
    const call = (changes: object, more = {}) =>
      api.call({
        method: "POST",
        path: PATH,
        headers: { origin: always.origin },
        body: { ...body(), ...changes },
        ...more,
      });

    test("has the checks of chat [D48/2]", async () => {
      const refusals = [
        await call({}, { body: "{" }),
        await call({ solution: undefined }),
        await call({ solution: "" }),
        await call({ solution: 1 }),
        await call({ session_id: "x" }),
        await call({ public_key: MALFORMED_KEY }),
        await call({}, { headers: { origin: "https://elsewhere.example" } }),
        await call({ solution: "x".repeat(9_000) }),
        await api.call({ method: "DELETE", path: PATH }),
      ];
      expect(refusals.map(formatRefusal)).toEqual([
        formatError(400, "invalid_json"),
        ...Array(3).fill(formatError(400, "invalid_message")),
        formatError(400, "invalid_session_id"),
        formatError(401, "invalid_api_key"),
        formatError(403, "origin_not_allowed"),
        formatError(413, "payload_too_large"),
        formatError(405, "method_not_allowed"),
      ]);
      expectAsked(await call({}));
    });

    test("shares chat's rate limit [D24/1]", async () => {
      const address = newClientAddress();
      const answers = await Promise.all(
        Array.from({ length: 61 }, () => call({ public_key: MALFORMED_KEY }, { address })),
      );
      expect(answers.filter(({ status }) => status === 401)).toHaveLength(60);
      expect(formatRefusal(await call({}, { address }))).toBe(formatError(429, "rate_limited"));
      expect(formatRefusal(await refused(always, { ...newVisitor(), address }))).toBe(formatError(429, "rate_limited"));
    });
  });

  describeWith("redis-server", "with Redis", () => {
    let redis: TestRedis;
    beforeAll(async () => {
      redis = await startRedis();
    });
    afterAll(() => redis.stop());

    test("two edges accept a solution once, and a pass for exactly 20 of 50 concurrent messages; without Redis, each counts alone [D48/8]", async () => {
      const processes = [
        await system.startEdge({ REDIS_URL: redis.url }),
        await system.startEdge({ REDIS_URL: redis.url }),
      ];
      const edges = await Promise.all(processes.map(({ port }) => createApi(`http://127.0.0.1:${port}`)));
      const at = (index: number) => edges[index % 2] as Api;
      const result = await retryIfRedisIsTooSlow(processes, async () => {
        const visitor = newVisitor();
        const solution = await solve(expectAsked(await refused(always, visitor, {}, at(0))));
        const bought = await Promise.all([0, 1, 2, 3].map((i) => post(always, visitor, solution, at(i))));
        const accepted = bought.find(({ status }) => status === 200);
        const { challenge_pass } = (accepted?.body ?? {}) as { challenge_pass?: string };
        const messages = Array.from({ length: 50 }, async (_, i) => {
          const fields = { session_id: visitor.session_id, challenge_pass };
          const response = await at(i).openChat(always, fields, { address: visitor.address });
          await response.text();
          return response.status;
        });
        const count = (statuses: number[], status: number) => statuses.filter((each) => each === status).length;
        const statuses = await Promise.all(messages);
        const solved = bought.map(({ status }) => status);
        return [count(solved, 200), count(statuses, 200), count(statuses, 403)];
      });
      expect(result).toEqual([1, 20, 30]);
      const solved = processes.map((edge) => readMetric(edge, "parley_challenges_total", { result: "solved" }));
      expect((await Promise.all(solved)).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(0);
      await redis.kill();
      const visitor = newVisitor();
      const solution = await solve(expectAsked(await refused(always, visitor, {}, at(0))));
      const bought = await Promise.all([0, 1, 0, 1].map((i) => post(always, visitor, solution, at(i))));
      expect(bought.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 200, 403, 403]);
    });
  });
}
