// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { readSse, type SseEvent } from "@parley/test-support";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type ChatResult, readChat } from "../../system/chat.ts";
import { readMetric } from "../../system/metrics.ts";
import { createTenant, type Tenant } from "../../system/system.ts";
import { type Api, bearer } from "../support/api.ts";
import { findShortestMs, MAX_CANCEL_MS, waitForCancellation } from "../support/cancellation.ts";
import {
  addBot,
  addKey,
  type ContractSystem,
  createMemberToken,
  formatDetail,
  formatError,
  formatRefusal,
  readTranscript,
  waitForUsedMessages,
} from "../support/contract-system.ts";
import { eventNames } from "../support/stream.ts";

const TEXT = "t0 t1 t2 t3 t4 t5 t6 t7 t8 t9 t10 t11 ";
/** Streams TEXT in 2.4 s. */
const SLOW_MODEL = "openai:tokens-12-every-200";
/**
 * Streams TEXT in 6 s, so that the reply still runs when the next requests of a test arrive, even on a busy machine. The provider `patient`
 * has the default timeouts. `openai` waits only 1.5 s for a token, and a token can be later on a busy machine.
 */
const SLOWER_MODEL = "patient:tokens-12-every-500";

export function keyedRepliesSuite(shared: () => ContractSystem): void {
  let system: ContractSystem;
  let api: Api;
  let tenant: Tenant;
  /** Two more bots of the workspace. */
  let slow: Tenant;
  let slower: Tenant;

  beforeAll(async () => {
    system = shared();
    ({ api } = system);
    tenant = await createTenant(system.admin);
    slow = await addBot(system, tenant, "slow", SLOW_MODEL);
    slower = await addBot(system, tenant, "slower", SLOWER_MODEL);
  });
  beforeEach(() => system.provider.reset());

  type Message = { fields: Record<string, unknown>; headers: Record<string, string> };

  /**
   * Returns how many streams the edge has refused because a session, an address or a user had too many streams, or a reply had too many readers.
   */
  function countClientRefusals(): Promise<number> {
    const [edge] = system.edges;
    if (edge === undefined) throw new Error("the system has no edge");
    return readMetric(edge, "parley_streams_refused_total", { reason: "client" });
  }

  /** Returns a message in a new session with a new idempotency key. */
  const newMessage = (fields: Record<string, unknown> = {}): Message => ({
    fields: { session_id: randomUUID(), ...fields },
    headers: { "idempotency-key": randomUUID() },
  });
  const send = ({ fields, headers }: Message, bot = tenant, lastEventId?: string) =>
    api.chat(bot, fields, { ...headers, ...(lastEventId !== undefined && { "last-event-id": lastEventId }) });
  const sendRefused = ({ fields, headers }: Message, more: Record<string, string> = {}, bot = tenant) =>
    api.refusedChat(bot, fields, { headers: { ...headers, ...more } });
  const eventIds = (result: ChatResult) => result.events.map(({ id }) => id);

  /** Yields a reply's events without the SSE comments. */
  async function* readEvents(response: Response): AsyncGenerator<SseEvent> {
    for await (const item of readSse(response)) if ("event" in item) yield item;
  }
  /** Reads a reply's events until their text is as long as `text`, then disconnects. */
  async function readUntil({ fields, headers }: Message, text: string, bot = slow): Promise<SseEvent[]> {
    const events: SseEvent[] = [];
    for await (const event of readEvents(await api.openChat(bot, fields, { headers }))) {
      events.push(event);
      if (textOf(events).length >= text.length) break;
    }
    return events;
  }
  const textOf = (events: SseEvent[]) =>
    events.map(({ event, data }) => (event === "token" ? (data as { text: string }).text : "")).join("");
  const stop = (fields: Record<string, unknown>, bot = tenant) =>
    api.call({
      method: "POST",
      path: "/api/chat/stop/",
      headers: { origin: bot.origin },
      body: { public_key: bot.publicKey, ...fields },
    });
  /** Waits until the provider has received this many requests. */
  const waitForProviderRequests = (count: number) =>
    expect.poll(() => system.provider.requests.length, { timeout: 10_000 }).toBe(count);
  const statusOf = async (sessionId: string) =>
    (await readTranscript(system, tenant, sessionId)).messages.at(-1)?.status;

  describe("ids", () => {
    test("every event's id names the message and the offset after the event, in UTF-16 code units [D32/1-2]", async () => {
      const text = "👋🏽 Grüße";
      const message = newMessage({ message: text });
      const echo = await addBot(system, tenant, "echo", "openai:echo");
      const result = await send(message, echo);
      expect(result.text).toBe(text);
      const id = result.meta?.message_id;
      let offset = 0;
      for (const event of result.events) {
        if (event.event === "token") offset += String(event.data.text).length;
        expect(event.id).toBe(`${id}-${offset}`);
      }
      expect(offset).toBe(text.length);
    });

    test("without a key no event has an id [D32/3]", async () => {
      const result = await api.chat(tenant);
      expect(new Set(eventIds(result))).toEqual(new Set([undefined]));
    });
  });

  describe("a known key", () => {
    test("a known key replays an ended reply without calling a provider or counting a message [D33/1]", async () => {
      const message = newMessage();
      const first = await send(message);
      const used = await waitForUsedMessages(system, tenant);
      const calls = system.provider.requests.length;
      const again = await send(message);
      expect({ ...again, events: [], headers: null }).toEqual({ ...first, events: [], headers: null });
      expect(again.events.at(-1)).toEqual(first.events.at(-1));
      expect(system.provider.requests).toHaveLength(calls);
      expect(await waitForUsedMessages(system, tenant)).toBe(used);
    });

    test("a known key attaches to a running reply from its start [D33/2]", async () => {
      const message = newMessage();
      const opener = send(message, slow);
      await expect.poll(() => system.provider.requests[0]?.tokensSent ?? 0).toBeGreaterThanOrEqual(2);
      const second = await send(message, slow);
      const first = await opener;
      expect([first.text, second.text]).toEqual([TEXT, TEXT]);
      expect(second.meta).toEqual(first.meta);
      expect(second.done).toEqual(first.done);
      expect(system.provider.requests).toHaveLength(1);
    });

    test("thirty concurrent requests with one key open one turn, and at most eight of them read its reply [D33/3] [D36/2]", async () => {
      const message = newMessage();
      const before = await countClientRefusals();
      const responses = await Promise.all(
        Array.from({ length: 30 }, () => api.openChat(slower, message.fields, { headers: message.headers })),
      );
      const streams = responses.filter(({ status }) => status === 200);
      const results = await Promise.all(streams.map((response) => readChat(response)));
      expect(streams).toHaveLength(8);
      for (const result of results) expect(result).toMatchObject({ text: TEXT, done: results[0]?.done });
      for (const response of responses.filter(({ status }) => status !== 200))
        expect([response.status, await response.text()]).toEqual([503, '{"error":"overloaded"}']);
      expect(system.provider.requests).toHaveLength(1);
      expect(await countClientRefusals()).toBe(before + 22);
    });

    test("a known key continues its reply after Last-Event-ID, while the reply runs and after its end [D33/4]", async () => {
      const message = newMessage();
      const start = await readUntil(message, "t0 t1 t2 ");
      const { id = "" } = start.at(-1) ?? {};
      const rest = await send(message, slow, id);
      expect(textOf(start) + rest.text).toBe(TEXT);
      expect(rest.events[0]).toMatchObject({ event: "meta", id });
      expect(rest.done).toMatchObject({ finish_reason: "stop" });
      expect(await send(message, slow, id)).toMatchObject({ text: rest.text, done: rest.done });
      expect(await statusOf(String(message.fields.session_id))).toBe("done");
    });

    test("a known key with another message gives 409 idempotency_key_reused, while the reply runs and after its end [D33/5]", async () => {
      const message = newMessage();
      const running = send(message, slow);
      await waitForProviderRequests(1);
      const other = { ...message, fields: { ...message.fields, message: "Another one?" } };
      const reused = formatError(409, "idempotency_key_reused");
      expect(formatRefusal(await sendRefused(other, {}, slow))).toBe(reused);
      await running;
      expect(formatRefusal(await sendRefused(other, {}, slow))).toBe(reused);
      expect(formatRefusal(await sendRefused(other, { "last-event-id": "1-0" }, slow))).toBe(reused);
    });

    test("a known key replays its reply to a request with other metadata and another referrer [D33/5]", async () => {
      const message = newMessage();
      const first = await send(message);
      const fields = { ...message.fields, visitor_metadata: { page: 2 } };
      const again = await send({ fields, headers: { ...message.headers, referer: "https://shop.example/2" } });
      expect(again.meta).toEqual(first.meta);
    });

    test("a known key replays a blocked message and the end of a failed reply [D33/6]", async () => {
      await system.admin.moderation.addPattern({
        workspaceId: tenant.workspaceId,
        botSlug: slow.botSlug,
        pattern: "forbidden",
        fallback: "No.",
      });
      // The conversation service caches a bot's patterns for 4 s.
      await sleep(4_500);
      const blocked = newMessage({ message: "forbidden" });
      const first = await send(blocked, slow);
      expect(eventNames(first)).toEqual(["meta", "blocked", "done"]);
      expect((await send(blocked, slow)).events).toEqual(first.events);

      const failing = await addBot(system, tenant, "failing", "openai:cut-after-2");
      const message = newMessage();
      const failed = await send(message, failing);
      const replayed = await send(message, failing);
      expect(replayed.text).toBe(failed.text);
      expect(replayed.events.slice(-2)).toEqual(failed.events.slice(-2));
    });

    test("a known key of a deleted session gives 404 session_not_found [D33/7]", async () => {
      const message = newMessage();
      await send(message);
      const sessionId = String(message.fields.session_id);
      await system.admin.sessions.deleteSession({ workspaceId: tenant.workspaceId, sessionId });
      expect(formatRefusal(await sendRefused(message))).toBe(formatError(404, "session_not_found"));
    });
  });

  describe("refusals", () => {
    test("a malformed key gives 400 invalid_idempotency_key [D34/1]", async () => {
      for (const key of ["", "a b", "x".repeat(256), "é"]) {
        const answer = await sendRefused({ fields: {}, headers: { "idempotency-key": key } });
        expect(formatRefusal(answer), key).toBe(formatError(400, "invalid_idempotency_key"));
      }
      // The longest key that is accepted.
      await send({ fields: {}, headers: { "idempotency-key": "~".repeat(255) } });
    });

    test("a Last-Event-ID of another message, beyond the text or inside a surrogate pair gives 400 invalid_last_event_id [D34/2]", async () => {
      const message = newMessage({ message: "👋" });
      const echo = await addBot(system, tenant, "echo-2", "openai:echo");
      const { meta, text } = await send(message, echo);
      const id = Number(meta?.message_id);
      // Offset 1 is inside the surrogate pair of the emoji.
      for (const wrong of [`${id + 2}-0`, `${id}-${text.length + 1}`, `${id}-1`, "x", "", `${id}`, `${id}-0-0`])
        expect(formatRefusal(await sendRefused(message, { "last-event-id": wrong }, echo)), wrong).toBe(
          formatError(400, "invalid_last_event_id"),
        );
    });

    test("an unknown key with Last-Event-ID gives 404 turn_not_found and opens no turn [D34/3]", async () => {
      const message = newMessage();
      expect(formatRefusal(await sendRefused(message, { "last-event-id": "1-0" }))).toBe(
        formatError(404, "turn_not_found"),
      );
      expect(system.provider.requests).toEqual([]);
    });

    test("Last-Event-ID without a key gives an empty stream and opens no turn [D34/4]", async () => {
      const response = await api.openChat(tenant, {}, { headers: { "last-event-id": "1-0" } });
      expect([response.status, await response.text()]).toEqual([200, ""]);
      expect(response.headers.get("content-type")).toMatch(/^text\/event-stream\b/);
      expect(system.provider.requests).toEqual([]);
    });

    test("a refusal before the turn is opened does not bind the key [D34/5]", async () => {
      const message = newMessage();
      const elsewhere = await sendRefused(message, { origin: "https://elsewhere.example" });
      expect(elsewhere.status).toBe(403);
      expect((await send({ ...message, fields: { ...message.fields, message: "Now it is right." } })).status).toBe(200);
    });

    test("the public key and the Origin are checked on every request [D34/6]", async () => {
      const key = await addKey(system, tenant, ["other.example"]);
      const message = newMessage();
      await send(message, key);
      const elsewhere = await sendRefused(message, { origin: "https://elsewhere.example" }, key);
      expect(formatRefusal(elsewhere)).toBe(formatError(403, "origin_not_allowed"));
      await system.admin.keys.revokeKey({ publicKey: key.publicKey });
      // An edge refuses a revoked key within 5 s.
      await sleep(5_000);
      expect(formatRefusal(await sendRefused(message, {}, key))).toBe(formatError(401, "invalid_api_key"));
    });

    test("while two replies of a session run, a third with a key gets 503 overloaded, and a known key replays an ended reply [D33/1] [D36/1]", async () => {
      const session_id = randomUUID();
      const ended = newMessage({ session_id });
      const first = await send(ended, slower);
      const running = [newMessage({ session_id }), newMessage({ session_id })].map((message) => send(message, slower));
      await waitForProviderRequests(3);
      const before = await countClientRefusals();
      expect(formatRefusal(await sendRefused(newMessage({ session_id }), {}, slower))).toBe(
        formatError(503, "overloaded"),
      );
      expect(await countClientRefusals()).toBe(before + 1);
      const again = await send(ended, slower);
      expect([again.text, again.done]).toEqual([TEXT, first.done]);
      await Promise.all(running);
    });

    test("requests with Last-Event-ID have a separate limit of 120 a minute [D36/3]", async () => {
      const message = newMessage();
      const { events } = await send(message);
      const call = { headers: { ...message.headers, "last-event-id": events[0]?.id ?? "" }, address: "10.99.0.1" };
      const response = await api.openChat(tenant, message.fields, call);
      await response.text();
      expect(response.headers.get("ratelimit-policy")).toBe('"resume";q=120;w=60');
      expect(response.headers.get("ratelimit")).toMatch(/r=119/);
    });
  });

  describe("stop", () => {
    test("stopping by key cancels the reply and its provider request, and returns the stored outcome [D35/1-2]", async () => {
      const message = newMessage();
      const session_id = message.fields.session_id;
      const reply = send(message, slower);
      await waitForProviderRequests(1);
      await sleep(500);
      const startedAt = performance.now();
      const answer = await stop({ session_id, idempotency_key: message.headers["idempotency-key"] }, slower);
      expect([answer.status, answer.body]).toEqual([200, { status: "cancelled" }]);
      expect(performance.now() - startedAt).toBeLessThan(2_000);
      const stopped = await reply;
      expect(stopped.done).toMatchObject({ finish_reason: "cancelled" });
      expect(stopped.error).toBeUndefined();
      await expect.poll(() => system.provider.closedByClient().length, { timeout: 10_000 }).toBe(1);
      const { messages } = await readTranscript(system, tenant, String(session_id));
      expect(messages.at(-1)).toMatchObject({ status: "cancelled", content: stopped.text });
      expect(await send(message, slower)).toMatchObject({ text: stopped.text, done: stopped.done });
      expect(await stop({ session_id, message_id: stopped.meta?.message_id }, slower)).toMatchObject({
        status: 200,
        body: { status: "cancelled" },
      });
    });

    test("stopping cancels the provider request within 1 s [D35/1]", async () => {
      // One cancellation in time is enough: a busy machine can only make a cancellation slower.
      const cancelMs = await findShortestMs(system, async () => {
        const message = newMessage();
        const reply = send(message, slower);
        await waitForProviderRequests(1);
        const startedAt = Date.now();
        await stop(
          { session_id: message.fields.session_id, idempotency_key: message.headers["idempotency-key"] },
          slower,
        );
        const elapsedMs = await waitForCancellation(system, startedAt);
        await reply;
        return elapsedMs;
      });
      expect(cancelMs).toBeLessThan(MAX_CANCEL_MS);
    });

    test("stopping by message id cancels a reply without a key [D35/1]", async () => {
      const session_id = randomUUID();
      let last: SseEvent | undefined;
      for await (const event of readEvents(await api.openChat(slower, { session_id }))) {
        last = event;
        if (event.event !== "meta") continue;
        const { message_id } = event.data as { message_id: number };
        expect((await stop({ session_id, message_id }, slower)).body).toEqual({ status: "cancelled" });
      }
      expect(last).toMatchObject({ event: "done", data: { finish_reason: "cancelled" } });
    });

    test("stopping an ended reply returns its outcome [D35/2]", async () => {
      const message = newMessage();
      const { meta } = await send(message);
      const { session_id } = message.fields;
      expect((await stop({ session_id, message_id: meta?.message_id })).body).toEqual({ status: "done" });
    });

    test("stopping a reply of another session or bot, or an unknown reply, gives 404 message_not_found [D35/3]", async () => {
      const message = newMessage();
      const { meta } = await send(message);
      const { session_id } = message.fields;
      const message_id = meta?.message_id;
      const answers = await Promise.all([
        stop({ session_id: randomUUID(), message_id }),
        stop({ session_id, message_id }, slow),
        stop({ session_id, message_id: Number(message_id) + 2 }),
        stop({ session_id, idempotency_key: "unknown" }),
      ]);
      expect(answers.map(formatRefusal)).toEqual(answers.map(() => formatError(404, "message_not_found")));
    });

    test("the stop endpoint refuses a malformed or too large request, a GET, an invalid public key, and an origin that is not allowed [D35/4] [D5/1]", async () => {
      const session_id = randomUUID();
      const bad: [Record<string, unknown>, string][] = [
        [{ session_id }, "invalid_message"],
        [{ session_id, message_id: 1, idempotency_key: "k" }, "invalid_message"],
        [{ session_id, message_id: "x" }, "invalid_message"],
        [{ session_id, idempotency_key: "a b" }, "invalid_idempotency_key"],
        [{ session_id: "x", message_id: 1 }, "invalid_session_id"],
      ];
      for (const [fields, code] of bad) expect(formatRefusal(await stop(fields))).toBe(formatError(400, code));
      const call = { method: "POST", path: "/api/chat/stop/", headers: { origin: tenant.origin } };
      expect(formatRefusal(await api.call({ ...call, body: "{" }))).toBe(formatError(400, "invalid_json"));
      expect(formatRefusal(await api.call({ ...call, body: "x".repeat(9_000) }))).toBe(
        formatError(413, "payload_too_large"),
      );
      expect(formatRefusal(await api.call({ ...call, method: "GET" }))).toBe(formatError(405, "method_not_allowed"));
      const valid = { session_id, message_id: 1 };
      expect(formatRefusal(await stop(valid, { ...tenant, publicKey: "svc_pk_x" }))).toBe(
        formatError(401, "invalid_api_key"),
      );
      expect(formatRefusal(await stop(valid, { ...tenant, origin: "https://no.example" }))).toBe(
        formatError(403, "origin_not_allowed"),
      );
    });
  });

  test("the playground replays and stops replies of the caller's own sessions by key, and sends errors as {detail} [D37/1]", async () => {
    const token = await createMemberToken(system, tenant);
    const session_id = randomUUID();
    const headers = { ...bearer(token), "idempotency-key": randomUUID() };
    const body = { bot_slug: slower.botSlug, session_id, message: "Hello?" };
    const call = (path: string, fields: object, more: Record<string, string> = {}) =>
      api.send({ method: "POST", path, headers: { ...headers, ...more }, body: fields });
    const path = "/api/chat/playground/";
    const reply = readChat(await call(path, body));
    const stopPath = `${path}stop/`;
    const stopBody = { bot_slug: slower.botSlug, session_id, idempotency_key: headers["idempotency-key"] };
    const stopped = await api.call({ method: "POST", path: stopPath, headers: bearer(token), body: stopBody });
    expect([stopped.status, stopped.body]).toEqual([200, { status: "cancelled" }]);
    const { done, text } = await reply;
    expect(done).toMatchObject({ finish_reason: "cancelled" });
    expect(await readChat(await call(path, body))).toMatchObject({ text, done });

    const answerOf = (fields: object, more: Record<string, string>, to = path) =>
      api.call({ method: "POST", path: to, headers: { ...headers, ...more }, body: fields });
    expect(formatRefusal(await answerOf({ ...body, message: "Other" }, {}))).toBe(
      formatDetail(409, "idempotency_key_reused"),
    );
    expect(formatRefusal(await answerOf(body, { "idempotency-key": "a b" }))).toBe(
      formatDetail(400, "invalid_idempotency_key"),
    );
    expect(formatRefusal(await answerOf(body, { "last-event-id": "x" }))).toBe(
      formatDetail(400, "invalid_last_event_id"),
    );
    expect(formatRefusal(await answerOf(body, { "idempotency-key": "new", "last-event-id": "1-0" }))).toBe(
      formatDetail(404, "turn_not_found"),
    );
    const unknown = { ...stopBody, idempotency_key: "unknown" };
    expect(formatRefusal(await answerOf(unknown, {}, stopPath))).toBe(formatDetail(404, "message_not_found"));
    const otherUser = bearer(await createMemberToken(system, tenant));
    expect(formatRefusal(await answerOf(stopBody, otherUser, stopPath))).toBe(formatDetail(404, "message_not_found"));
    const { meta } = await api.chat(tenant);
    const ofWidget = { bot_slug: tenant.botSlug, session_id: meta?.session_id, message_id: meta?.message_id };
    expect(formatRefusal(await answerOf(ofWidget, {}, stopPath))).toBe(formatDetail(404, "message_not_found"));
    expect(formatRefusal(await answerOf({ ...unknown, bot_slug: "none" }, {}, stopPath))).toBe(
      formatDetail(404, "bot_not_found"),
    );
    expect(formatRefusal(await answerOf({}, {}, stopPath))).toBe(formatDetail(400, "invalid_message"));
    expect(formatRefusal(await answerOf("x".repeat(9_000) as never, {}, stopPath))).toBe(
      formatDetail(413, "payload_too_large"),
    );
    expect(formatRefusal(await answerOf(unknown, { authorization: "" }, stopPath))).toBe(
      formatDetail(401, "authentication_required"),
    );
    expect((await api.call({ path: stopPath })).status).toBe(405);
  });
}
