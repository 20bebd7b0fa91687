// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { text as readText } from "node:stream/consumers";
import { describeWith, startRedis, type TestRedis } from "@parley/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ServiceProcess } from "../../system/processes.ts";
import { retryIfRedisIsTooSlow } from "../../system/shared-limits.ts";
import { createTenant, type Tenant } from "../../system/system.ts";
import { newClientAddress } from "../../system/visitors.ts";
import { type Api, type ApiRequest, type ApiResponse, chatFields, createApi, exportPath } from "../support/api.ts";
import {
  type ContractSystem,
  createMemberToken,
  formatDetail,
  formatError,
  formatRefusal,
  MALFORMED_KEY,
} from "../support/contract-system.ts";

export function limitsSuite(shared: () => ContractSystem): void {
  let system: ContractSystem;
  let api: Api;
  let tenant: Tenant;

  beforeAll(async () => {
    system = shared();
    ({ api } = system);
    tenant = await createTenant(system.admin);
  });

  /** Sends a chat that counts against the rate limit. Its key is refused with 401, so no provider is called. */
  const countedChat = (address: string, at = api) => at.refusedChat(tenant, { public_key: MALFORMED_KEY }, { address });

  const callConcurrently = <T>(count: number, call: (index: number) => Promise<T>) =>
    Promise.all(Array.from({ length: count }, (_, index) => call(index)));

  const countStatus = (answers: ApiResponse[], status: number) =>
    answers.filter((each) => each.status === status).length;

  function expectLimited(answer: ApiResponse, policy: string, limit: number, body: string): void {
    expect(formatRefusal(answer)).toBe(body);
    const { headers } = answer;
    const seconds = Number(headers.get("retry-after"));
    expect(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60).toBe(true);
    expect(headers.get("ratelimit-policy")).toBe(`"${policy}";q=${limit};w=60`);
    expect(headers.get("ratelimit")).toBe(`"${policy}";r=0;t=${seconds}`);
  }

  test("chat allows 60 requests a minute per address and reports how many remain [4.1/2] [7.1/9] [8/2] [D24/1]", async () => {
    const address = newClientAddress();
    const first = await api.openChat(tenant, {}, { address });
    await first.text();
    expect(first.headers.get("ratelimit-policy")).toBe('"chat";q=60;w=60');
    expect(first.headers.get("ratelimit")).toMatch(/^"chat";r=59;t=\d+$/);
    const answers = await callConcurrently(99, () => countedChat(address));
    expect(countStatus(answers, 401)).toBe(59);
    expect(countStatus(answers, 429)).toBe(40);
    expectLimited(await api.refusedChat(tenant, {}, { address }), "chat", 60, formatError(429, "rate_limited"));
    for (const options of [{}, { session: randomUUID() }])
      expectLimited(
        await api.getHistory(tenant, undefined, { ...options, address }),
        "chat",
        60,
        formatError(429, "rate_limited"),
      );
    expect((await api.chat(tenant)).done?.finish_reason).toBe("stop");
  });

  describe("malformed requests", () => {
    const headers = () => ({ origin: tenant.origin });
    const post = (path: string, body: string, more = {}): ApiRequest => ({
      method: "POST",
      path,
      body,
      headers: headers(),
      ...more,
    });
    const badToken = { headers: { authorization: "Bearer a.b.c" } };
    /** Returns one malformed request of each kind. */
    const malformed = (): ApiRequest[] => [
      post("/api/chat/", "{"),
      post("/api/chat/", JSON.stringify(chatFields(tenant, { message: "x".repeat(4_001) }))),
      post("/api/chat/rating/", "{}"),
      post("/api/doctor/", "x".repeat(9_000)),
      post("/api/chat/playground/", "{}", badToken),
    ];

    async function wellFormed(): Promise<[ApiRequest, typeof formatError][]> {
      const { publicKey: public_key, botSlug: bot_slug } = tenant;
      const session_id = randomUUID();
      const owner = { headers: { authorization: `Bearer ${await createMemberToken(system, tenant)}` } };
      const rating = { public_key, session_id, message_id: 1, rating: "up" };
      const stop = { session_id, message_id: 1 };
      return [
        [post("/api/chat/", JSON.stringify(chatFields(tenant))), formatError],
        [post("/api/chat/rating/", JSON.stringify(rating)), formatError],
        [post("/api/chat/stop/", JSON.stringify({ public_key, ...stop })), formatError],
        [{ path: `/api/chat/sessions/?public_key=${public_key}`, headers: headers() }, formatError],
        [
          { path: `/api/chat/sessions/${session_id}/messages/?public_key=${public_key}`, headers: headers() },
          formatError,
        ],
        [post("/api/chat/playground/stop/", JSON.stringify({ bot_slug, ...stop }), owner), formatDetail],
        [post("/api/doctor/", JSON.stringify({ public_key })), formatError],
        [
          post("/api/chat/playground/", JSON.stringify({ bot_slug, session_id, message: "Hello?" }), owner),
          formatDetail,
        ],
        [{ path: exportPath(session_id), ...owner }, formatDetail],
      ];
    }

    test("above 300 malformed requests a minute, an address gets 429 for every request with a body or a token [D24/5]", async () => {
      const address = newClientAddress();
      const kinds = malformed();
      const answers = await callConcurrently(300, (index) =>
        api.call({ ...(kinds[index % 5] as ApiRequest), address }),
      );
      // Of the five kinds, with 60 requests each, three get 400, one 413 and one 401.
      expect([400, 413, 401].map((status) => countStatus(answers, status))).toEqual([180, 60, 60]);
      expectLimited(
        await api.call({ ...(kinds[0] as ApiRequest), address }),
        "malformed",
        300,
        formatError(429, "rate_limited"),
      );
      for (const [request, format] of await wellFormed())
        expectLimited(await api.call({ ...request, address }), "malformed", 300, format(429, "rate_limited"));

      const config = `/api/widget/config/?public_key=${tenant.publicKey}`;
      expect((await api.call({ path: config, headers: headers(), address })).status).toBe(200);
      expect((await api.call({ method: "PUT", path: "/api/chat/", headers: headers(), address })).status).toBe(405);
      expect((await api.call({ path: "/healthz/live", address })).status).toBe(200);
      expect((await countedChat(newClientAddress())).status).toBe(401);
    });

    test("an address above the malformed limit gets 429 before it sends its body [D24/5]", async () => {
      const address = newClientAddress();
      await callConcurrently(301, () => api.call({ ...post("/api/chat/", "{"), address }));
      const clientRequest = httpRequest(`${system.url()}/api/chat/`, {
        method: "POST",
        headers: { ...headers(), "content-length": "1000", "x-forwarded-for": address },
      });
      clientRequest.flushHeaders();
      const [response] = (await once(clientRequest, "response")) as [IncomingMessage];
      expect(`${response.statusCode} ${await readText(response)}`).toBe(formatError(429, "rate_limited"));
      expect(response.headers["access-control-allow-origin"]).toBe(tenant.origin);
      clientRequest.destroy();
    });

    test("exports with an invalid token count as malformed requests [D24/5]", async () => {
      const address = newClientAddress();
      const answers = await callConcurrently(301, () =>
        api.call({ path: exportPath(randomUUID()), address, ...badToken }),
      );
      // The export's own limit refuses the other requests, which count as malformed too.
      expect(countStatus(answers, 401)).toBe(30);
      const token = await createMemberToken(system, tenant);
      const call = { path: exportPath(randomUUID()), headers: { authorization: `Bearer ${token}` } };
      expectLimited(await api.call({ ...call, address }), "malformed", 300, formatDetail(429, "rate_limited"));
      expect((await api.call(call)).status).toBe(404);
    });
  });

  test("rating has its own rate-limit bucket [D24/4]", async () => {
    const address = newClientAddress();
    const rate = () =>
      api.call({
        method: "POST",
        path: "/api/chat/rating/",
        headers: { origin: tenant.origin },
        body: { public_key: tenant.publicKey, session_id: randomUUID(), message_id: 1, rating: "up" },
        address,
      });
    const answers = await callConcurrently(60, rate);
    expect(countStatus(answers, 404)).toBe(60);
    expectLimited(await rate(), "rating", 60, formatError(429, "rate_limited"));
    expect((await countedChat(address)).status).toBe(401);
  });

  test("the playground allows 120 requests a minute per user, across addresses and workspaces [4.4/3] [8/3]", async () => {
    const other = await createTenant(system.admin);
    const tokens = [
      await createMemberToken(system, tenant, "operator"),
      await createMemberToken(system, other, "operator"),
    ];
    const call = (index: number) => api.refusedPlayground(tokens[index % 2] ?? "", { bot_slug: "no-such-bot" });
    expect(countStatus(await callConcurrently(120, call), 404)).toBe(120);
    expectLimited(await call(0), "playground", 120, formatDetail(429, "rate_limited"));
    expectLimited(await call(1), "playground", 120, formatDetail(429, "rate_limited"));
    const otherUserToken = await createMemberToken(system, tenant, "owner");
    expect((await api.refusedPlayground(otherUserToken, { bot_slug: "no-such-bot" })).status).toBe(404);
  });

  test("the export allows 30 requests a minute per user, across addresses and workspaces [4.3/2] [7.2/4] [8/4]", async () => {
    const other = await createTenant(system.admin);
    const tokens = [
      await createMemberToken(system, tenant, "operator"),
      await createMemberToken(system, other, "operator"),
    ];
    const call = (index: number) => api.exportTranscript(tokens[index % 2] ?? "", randomUUID());
    expect(countStatus(await callConcurrently(30, call), 404)).toBe(30);
    expectLimited(await call(0), "export", 30, formatDetail(429, "rate_limited"));
    expectLimited(await call(1), "export", 30, formatDetail(429, "rate_limited"));
    const otherUserToken = await createMemberToken(system, tenant, "second-owner");
    expect((await api.exportTranscript(otherUserToken, randomUUID())).status).toBe(404);
  });

  test("the export answers 30 unauthenticated requests a minute per address with 401, and further ones with 429 [4.3/3] [8/4]", async () => {
    const address = newClientAddress();
    const call = (headers = {}) => api.call({ path: exportPath(randomUUID()), address, headers });
    const answers = await callConcurrently(15, () => call());
    answers.push(...(await callConcurrently(15, () => call({ authorization: "Bearer a.b.c" }))));
    expect(answers.map(formatRefusal)).toEqual(
      Array.from({ length: 30 }, () => formatDetail(401, "authentication_required")),
    );
    expectLimited(await call(), "export", 30, formatDetail(429, "rate_limited"));
    const token = await createMemberToken(system, tenant, "second-owner");
    expect((await call({ authorization: `Bearer ${token}` })).status).toBe(404);
  });

  describe("client address", () => {
    test("the client address is the rightmost X-Forwarded-For entry that is not a trusted proxy [D25/2]", async () => {
      const client = newClientAddress();
      /** Returns one of four X-Forwarded-For headers of the same client. */
      const forwardedFor = (index: number) =>
        [`${client}`, `192.0.2.${index}, ${client}`, `${client}, 127.0.0.9`, `x, ${client}, 127.1.2.3`][index % 4] ??
        "";
      expect(countStatus(await callConcurrently(60, (index) => countedChat(forwardedFor(index))), 401)).toBe(60);
      for (let index = 0; index < 4; index++) expect((await countedChat(forwardedFor(index))).status).toBe(429);
      expect((await countedChat(`${client}, ${newClientAddress()}`)).status).toBe(401);
    });

    test("the limits count an IPv6 address by its /64 prefix, and an IPv4-mapped address as its IPv4 address [D25/3] [H/3]", async () => {
      const addressInOne64 = (index: number) => `2001:db8:1:2:${index.toString(16)}::${index.toString(16)}`;
      expect(countStatus(await callConcurrently(60, (index) => countedChat(addressInOne64(index))), 401)).toBe(60);
      expect((await countedChat(addressInOne64(61))).status).toBe(429);
      expect((await countedChat("2001:db8:1:3::1")).status).toBe(401);

      const ipv4 = newClientAddress();
      const forms = [ipv4, `::ffff:${ipv4}`];
      expect(countStatus(await callConcurrently(60, (index) => countedChat(forms[index % 2] ?? "")), 401)).toBe(60);
      for (const form of forms) expect((await countedChat(form)).status).toBe(429);
    });

    test("the /64s of a /56 together get 4 times the limit, and an address that contains an IPv4 address counts as that address [D25/4] [D25/5]", async () => {
      const addressInOne56 = (index: number) =>
        `2001:db8:5:ab${(16 + (index % 64)).toString(16)}::${index.toString(16)}`;
      const answers = await callConcurrently(300, (index) => countedChat(addressInOne56(index)));
      expect(countStatus(answers, 401)).toBe(240);
      expectLimited(await countedChat("2001:db8:5:abff::1"), "chat", 60, formatError(429, "rate_limited"));
      expect((await countedChat("2001:db8:5:ac00::1")).status).toBe(401);

      const ipv4 = newClientAddress();
      const [a = 0, b = 0, c = 0, d = 0] = ipv4.split(".").map(Number);
      const hex = (high: number, low: number) => (256 * high + low).toString(16);
      const teredo = `${hex(a ^ 0xff, b ^ 0xff)}:${hex(c ^ 0xff, d ^ 0xff)}`;
      const forms = [
        ipv4,
        `64:ff9b::${ipv4}`,
        `2002:${hex(a, b)}:${hex(c, d)}:1::1`,
        `2002:${hex(a, b)}:${hex(c, d)}:2::1`,
        `2001:0:1:2:8000:1:${teredo}`,
      ];
      expect(countStatus(await callConcurrently(60, (index) => countedChat(forms[index % 5] ?? "")), 401)).toBe(60);
      for (const form of forms) expect((await countedChat(form)).status).toBe(429);
    });

    test("without trusted proxies the client address is the socket's, and forwarding headers are ignored [D25/1] [H/3] [D24/3]", async () => {
      const edge = await system.startEdge({ TRUSTED_PROXIES: "" });
      const direct = await createApi(`http://127.0.0.1:${edge.port}`);
      const callWithForgedAddress = (index: number) =>
        direct.call({
          method: "POST",
          path: "/api/chat/",
          headers: { origin: tenant.origin, forwarded: `for=10.9.9.${index}`, "x-real-ip": `10.9.9.${index}` },
          body: chatFields(tenant, { public_key: MALFORMED_KEY }),
          address: newClientAddress(),
        });
      const answers = await callConcurrently(70, callWithForgedAddress);
      expect(countStatus(answers, 401)).toBe(60);
      expect(countStatus(answers, 429)).toBe(10);
      // Without Redis each edge limits alone, so the other edge does not share this count.
      expect((await countedChat("127.0.0.1")).status).toBe(401);
    });
  });

  describeWith("redis-server", "with Redis", () => {
    let redis: TestRedis;
    let processes: ServiceProcess[];
    let edges: Api[];

    beforeAll(async () => {
      redis = await startRedis();
      processes = await callConcurrently(2, () => system.startEdge({ REDIS_URL: redis.url }));
      edges = await Promise.all(processes.map(({ port }) => createApi(`http://127.0.0.1:${port}`)));
    });
    afterAll(() => redis.stop());

    const callEdgesInTurn = (address: string) => (index: number) => countedChat(address, edges[index % 2]);

    test("with Redis, all edges together allow 60 requests a minute [D24/2]", async () => {
      const { answers, later } = await retryIfRedisIsTooSlow(processes, async () => {
        const address = newClientAddress();
        return {
          answers: await callConcurrently(150, callEdgesInTurn(address)),
          later: await Promise.all(edges.map((edge) => countedChat(address, edge))),
        };
      });
      expect(countStatus(answers, 401)).toBe(60);
      expect(countStatus(answers, 429)).toBe(90);
      for (const answer of later) expectLimited(answer, "chat", 60, formatError(429, "rate_limited"));
    });

    test("edges share the count of malformed requests, but an edge refuses an address only after that edge has received a malformed request above the limit [D24/6]", async () => {
      const { answers, later } = await retryIfRedisIsTooSlow(processes, async () => {
        const address = newClientAddress();
        const sendMalformed = (edge: Api) => edge.refusedChat(tenant, { message: "" }, { address });
        const first = await callConcurrently(300, (index) => sendMalformed(edges[index % 2] as Api));
        const laterByEdge = edges.map(async (edge) => ({
          before: await countedChat(address, edge),
          above: await sendMalformed(edge),
          after: await countedChat(address, edge),
        }));
        return { answers: first, later: await Promise.all(laterByEdge) };
      });
      expect(countStatus(answers, 400)).toBe(300);
      for (const { before, above, after } of later) {
        expect(before.status).toBe(401);
        expect(above.status).toBe(429);
        expectLimited(after, "malformed", 300, formatError(429, "rate_limited"));
      }
    });

    test("each edge limits requests on its own after Redis is killed [D24/3]", async () => {
      await redis.kill();
      const address = newClientAddress();
      const answers = await callConcurrently(150, callEdgesInTurn(address));
      expect(countStatus(answers, 401)).toBe(120);
      expect(countStatus(answers, 429)).toBe(30);
    });
  });
}
