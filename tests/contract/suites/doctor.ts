// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { readSse, type SseEvent } from "@parley/test-support";
import { beforeAll, expect, test } from "vitest";
import { readChat } from "../../system/chat.ts";
import { createTenant, type Tenant } from "../../system/system.ts";
import { newClientAddress, signVisitorToken } from "../../system/visitors.ts";
import type { Api, ApiRequest } from "../support/api.ts";
import {
  type ContractSystem,
  formatError,
  formatRefusal,
  MALFORMED_KEY,
  waitForUsedMessages,
} from "../support/contract-system.ts";

type Meta = {
  client: Record<string, unknown>;
  http_version: string;
  forwarded_headers: string[];
  server_time: string;
  visitor_token?: string;
};

/** Tests POST /api/doctor/, which streams events at a fixed pace without a model. `parley doctor` calls it to test proxies. */
export function doctorSuite(shared: () => ContractSystem): void {
  let system: ContractSystem;
  let api: Api;
  let tenant: Tenant;

  beforeAll(async () => {
    system = shared();
    ({ api } = system);
    tenant = await createTenant(system.admin);
  });

  const doctorRequest = (fields: object, more: Partial<ApiRequest> = {}): ApiRequest => ({
    method: "POST",
    path: "/api/doctor/",
    body: { public_key: tenant.publicKey, ...fields },
    ...more,
    headers: { origin: tenant.origin, ...more.headers },
  });

  /** Reads the events. Throws if the stream has a comment. */
  async function eventsOf(request: ApiRequest): Promise<SseEvent[]> {
    const events: SseEvent[] = [];
    for await (const item of readSse(await api.send(request))) {
      if (!("event" in item)) throw new Error(`unexpected SSE comment: ${item.comment}`);
      events.push(item);
    }
    return events;
  }

  /** Returns the data of the first event and disconnects. */
  async function metaOf(request: ApiRequest): Promise<Meta> {
    for await (const item of readSse(await api.send(request))) if ("event" in item) return item.data as Meta;
    throw new Error("the stream has no event");
  }

  test("the doctor streams paced ticks without calling a provider or counting a message [D41/1] [D41/4]", async () => {
    system.provider.reset();
    const response = await api.send(doctorRequest({}));
    expect(response.headers.get("cache-control")).toBe("no-cache, no-transform");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    const events: SseEvent[] = [];
    for await (const item of readSse(response)) if ("event" in item) events.push(item);
    const ticks = events.slice(1, -1);
    expect(events.map(({ event }) => event)).toEqual(["meta", ...Array.from({ length: 20 }, () => "tick"), "done"]);
    expect(ticks.map(({ data }) => (data as { number: number }).number)).toEqual(ticks.map((_, index) => index + 1));
    expect((ticks.at(-1)?.receivedAtMs ?? 0) - (ticks[0]?.receivedAtMs ?? 0)).toBeGreaterThan(1_500);
    expect(events.at(-1)?.data).toEqual({ finish_reason: "stop", sent_ms: expect.any(Number) });
    expect(system.provider.requests).toEqual([]);
    expect(await waitForUsedMessages(system, tenant)).toBe(0);
  });

  test("the doctor's stream matches openapi.json, and silence_ms delays the event done [D41/2]", async () => {
    const [silentEvents, complete] = await Promise.all([
      eventsOf(doctorRequest({ silence_ms: 3_000 })),
      api.send(doctorRequest({})).then(async (response) => ({ response, ...(await readChat(response)) })),
    ]);
    const [lastTick, done] = silentEvents.slice(-2);
    // On a busy machine this process may read the last tick late.
    expect((done?.receivedAtMs ?? 0) - (lastTick?.receivedAtMs ?? 0)).toBeGreaterThan(2_500);
    const { response } = complete;
    const exchange = { method: "POST", path: "/api/doctor/", status: response.status, headers: response.headers };
    api.recordResponse(api.description.check({ ...exchange, events: complete.events }));
  });

  test("the doctor reports the caller's address, the header it was read from, and the caller's rate-limit bucket [D41/3]", async () => {
    const address = newClientAddress();
    const headers = { "x-forwarded-for": `192.0.2.1, ${address}`, "x-forwarded-proto": "https", via: "1.1 proxy" };
    const meta = await metaOf(doctorRequest({}, { headers }));
    expect(meta.client).toEqual({ address, counted_as: address, from: "x-forwarded-for" });
    expect(meta.forwarded_headers).toEqual(["via", "x-forwarded-for", "x-forwarded-proto"]);
    expect(meta.http_version).toBe("1.1");
    expect(Math.abs(Date.parse(meta.server_time) - Date.now())).toBeLessThan(10_000);

    const ipv6 = await metaOf(doctorRequest({}, { address: "2001:db8:0:7::9" }));
    expect(ipv6.client).toMatchObject({ address: "2001:db8:0:7::9", counted_as: "2001:db8:0:7::/64" });
  });

  test("the doctor reports whether chat accepts a visitor token, and the reason if not [D41/8]", async () => {
    const verified = await createTenant(system.admin);
    const { secret } = await system.admin.identityKeys.createIdentityKey({ workspaceId: verified.workspaceId });
    const check = async (fields: object) =>
      metaOf(doctorRequest({ public_key: verified.publicKey, ...fields }, { headers: { origin: verified.origin } }));
    expect(await check({})).not.toHaveProperty("visitor_token");
    const tokens = {
      accepted: await signVisitorToken(secret, "v"),
      expired: await signVisitorToken(secret, "v", { expiresIn: "-1h" }),
      signature: await signVisitorToken(`${secret}x`, "v"),
      claims: await signVisitorToken(secret, ""),
      malformed: "a.b.c",
    };
    for (const [result, token] of Object.entries(tokens))
      expect(await check({ visitor_token: token })).toMatchObject({ visitor_token: result });
    expect(await metaOf(doctorRequest({ visitor_token: tokens.accepted }))).toMatchObject({ visitor_token: "kid" });
  });

  test("the doctor sends the same errors as chat and has its own rate-limit bucket of 20 a minute [D41/5] [D41/6]", async () => {
    const refusals: [ApiRequest, string][] = [
      [doctorRequest({}, { body: "{" }), formatError(400, "invalid_json")],
      [doctorRequest({ public_key: " " }), formatError(400, "invalid_message")],
      [doctorRequest({ silence_ms: 30_001 }), formatError(400, "invalid_message")],
      [doctorRequest({ silence_ms: "1" }), formatError(400, "invalid_message")],
      [doctorRequest({ visitor_token: 1 }), formatError(400, "invalid_message")],
      [doctorRequest({}, { body: "x".repeat(1_100_000) }), formatError(413, "payload_too_large")],
      [doctorRequest({ public_key: MALFORMED_KEY }), formatError(401, "invalid_api_key")],
      [doctorRequest({}, { headers: { origin: "https://elsewhere.example" } }), formatError(403, "origin_not_allowed")],
      [doctorRequest({}, { method: "PUT" }), formatError(405, "method_not_allowed")],
    ];
    for (const [request, expected] of refusals) expect(formatRefusal(await api.call(request))).toBe(expected);

    const address = newClientAddress();
    const callDoctor = () => api.call(doctorRequest({ public_key: MALFORMED_KEY }, { address }));
    const calls = await Promise.all(Array.from({ length: 20 }, callDoctor));
    expect(calls.map(({ status }) => status)).toEqual(Array(20).fill(401));
    const limited = await callDoctor();
    expect(formatRefusal(limited)).toBe(formatError(429, "rate_limited"));
    expect(limited.headers.get("ratelimit-policy")).toBe('"doctor";q=20;w=60');
    const chat = await api.refusedChat(tenant, { public_key: MALFORMED_KEY }, { address });
    expect(chat.headers.get("ratelimit")).toMatch(/^"chat";r=59;/);
  });

  test("an address has at most six open doctor streams, which take no place from its chats [D41/7]", async () => {
    const address = newClientAddress();
    const disconnect = new AbortController();
    const { signal } = disconnect;
    const silent = doctorRequest({ silence_ms: 20_000 }, { address, signal });
    const open = await Promise.all(Array.from({ length: 6 }, () => api.send(silent)));
    expect(open.map(({ status }) => status)).toEqual(Array(6).fill(200));
    const refused = await api.call(silent);
    expect(formatRefusal(refused)).toBe(formatError(503, "overloaded"));
    expect(refused.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
    expect((await metaOf(doctorRequest({}, { address: newClientAddress() }))).http_version).toBe("1.1");
    expect((await api.chat(tenant, {}, { address })).done?.finish_reason).toBe("stop");
    disconnect.abort();
    await expect
      .poll(() => api.send({ ...silent, signal: AbortSignal.timeout(5_000) }).then((each) => each.status))
      .toBe(200);
  });

  test("the doctor's preflight allows any origin [D41/5]", async () => {
    const headers = { origin: "https://any.example", "access-control-request-method": "POST" };
    const answer = await api.call({ method: "OPTIONS", path: "/api/doctor/", headers });
    expect(answer.status).toBe(204);
    expect(answer.headers.get("access-control-allow-origin")).toBe("https://any.example");
  });
}
