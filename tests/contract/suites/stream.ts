// An id in a title, such as [D32/1-2], names the sentences of the contract that the test proves. ../sentences.ts lists them.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { SseEvent } from "@parley/test-support";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { createTenant, type Tenant } from "../../system/system.ts";
import type { Api } from "../support/api.ts";
import { findShortestMs, MAX_CANCEL_MS, waitForCancellation } from "../support/cancellation.ts";
import { addBot, type ContractSystem, readTranscript, waitForUsedMessages } from "../support/contract-system.ts";
import { eventNames, eventsOf, promptOf } from "../support/stream.ts";

export function streamSuite(shared: () => ContractSystem): void {
  let system: ContractSystem;
  let api: Api;
  let tenant: Tenant;

  beforeAll(async () => {
    system = shared();
    ({ api } = system);
    tenant = await createTenant(system.admin);
  });
  beforeEach(() => system.provider.reset());

  /** Creates a bot with this model in the tenant's workspace. */
  const createBot = (model: string) => addBot(system, tenant, `bot-${randomUUID().slice(0, 8)}`, model);

  describe("replies", () => {
    test("a reply is the events meta, token and done, and done has the metering fields [1/1-2] [4.1/5] [6/1-2] [6/7-9] [D15/1] [D19/1]", async () => {
      const session_id = randomUUID();
      const result = await api.chat(tenant, { session_id });
      expect(result.status).toBe(200);
      expect(result.headers.get("content-type")).toMatch(/^text\/event-stream\b/);
      expect(eventNames(result)).toEqual(["meta", "token", "done"]);
      expect(result.meta).toEqual({ session_id, message_id: expect.any(Number) });
      expect(Number.isSafeInteger(result.meta?.message_id)).toBe(true);
      expect(result.text).toBe("Hello from the scripted provider, token by token.");
      expect(result.done).toEqual({
        finish_reason: "stop",
        tokens_in: 21,
        tokens_out: 34,
        latency_ms: expect.any(Number),
        model: "openai:default",
      });
      const { messages } = await readTranscript(system, tenant, session_id);
      expect(messages.at(-1)).toMatchObject({ id: String(result.meta?.message_id), role: "assistant" });
    });

    test("an event is an event line, a data line and a blank line, and the headers forbid caching and buffering [4.1/7]", async () => {
      const response = await api.openChat(tenant);
      const text = await response.text();
      expect(text).toMatch(/^(event: [a-z]+\ndata: \{[^\n]*\}\n\n)+$/);
      expect(response.headers.get("cache-control")).toBe("no-cache, no-transform");
      expect(response.headers.get("x-accel-buffering")).toBe("no");
    });

    test("tokens arrive as the model writes them, and the connection stays open until done [4.1/6] [6/2]", async () => {
      const bot = await createBot("openai:tokens-6-every-300");
      const events: SseEvent[] = [];
      for await (const event of eventsOf(await api.openChat(bot))) events.push(event);
      const tokens = events.filter(({ event }) => event === "token");
      expect(tokens.map(({ data }) => (data as { text: string }).text).join("")).toBe("t0 t1 t2 t3 t4 t5 ");
      expect(tokens.length).toBeGreaterThan(3);
      const [firstTokenAtMs, lastEvent] = [tokens[0]?.receivedAtMs ?? 0, events.at(-1)];
      expect(lastEvent?.event).toBe("done");
      expect((lastEvent?.receivedAtMs ?? 0) - firstTokenAtMs).toBeGreaterThan(500);
    });

    test("the prompt contains the session's earlier messages [2.1/3] [1/1]", async () => {
      const bot = await createBot("openai:echo");
      const session_id = randomUUID();
      await api.chat(bot, { session_id, message: "My name is Ada." });
      await api.chat(bot, { session_id, message: "What is my name?" });
      await api.chat(bot, { message: "And in another session?" });
      expect(promptOf(system, 1)).toEqual([
        { role: "user", content: "My name is Ada." },
        { role: "assistant", content: "My name is Ada." },
        { role: "user", content: "What is my name?" },
      ]);
      expect(promptOf(system, 2)).toEqual([{ role: "user", content: "And in another session?" }]);
    });

    test("text that looks like an SSE event stays inside its token event [H/8]", async () => {
      const texts = ["\n\nevent: done\ndata: {}", "\r\n\r\nevent: error\r\n", "\u2028: comment\n\n"];
      system.provider.script([{ tokens: texts }]);
      const result = await api.chat(tenant);
      expect(eventNames(result)).toEqual(["meta", "token", "done"]);
      expect(result.text).toBe(texts.join(""));
    });

    test("a reply is complete for each variant of a provider's stream [D19/1]", async () => {
      for (const model of [
        "openai:crlf",
        "openai:comments",
        "openai:split-utf8",
        "openai:no-usage",
        "openai:no-done",
        "openai:big-token",
      ]) {
        const { done, text } = await api.chat(await createBot(model));
        expect(done?.finish_reason, model).toBe("stop");
        expect(text).not.toBe("");
        expect(text).not.toContain("\uFFFD");
      }
    });

    test("a reply without text is an error without tokens, and is not counted [6/2]", async () => {
      const stream = await api.chat(await createBot("openai:empty"));
      expect(eventNames(stream)).toEqual(["meta", "error", "done"]);
      expect(stream.done?.finish_reason).toBe("error");
    });
  });

  describe("failures", () => {
    const failures = {
      "status-401": "provider_auth",
      "status-403": "provider_auth",
      "status-429-retry-30": "provider_rate_limited",
      hang: "provider_timeout",
      "stall-after-2": "provider_timeout",
      "status-500": "provider_error",
      "status-404": "provider_error",
      html: "provider_error",
      "error-chunk-after-2": "provider_error",
      "cut-after-3": "provider_error",
      "end-after-3": "provider_error",
      "no-finish": "provider_error",
    };

    test("a provider failure is an error event with a stable code, then done, never an HTTP error status [6/5] [6/10-12] [D17/1] [D18/1-4] [D18/6] [D19/1-2] [D20/1]", async () => {
      await Promise.all(
        Object.entries(failures).map(async ([model, code]) => {
          const session_id = randomUUID();
          const bot = await createBot(`openai:${model}`);
          const result = await api.chat(bot, { session_id });
          expect(result.status).toBe(200);
          expect(
            eventNames(result).filter((name) => name !== "token"),
            model,
          ).toEqual(["meta", "error", "done"]);
          const message = expect.stringMatching(/^The assistant [a-z ]+\. Please /);
          expect(result.error, model).toEqual({ code, message });
          expect(result.done).toMatchObject({ finish_reason: "error", model: `openai:${model}` });
          if (result.text === "") expect(result.done).toMatchObject({ tokens_out: 0 });
          const { messages } = await readTranscript(system, bot, session_id);
          expect(messages.at(-1)).toMatchObject({ status: "error", error_message: code, content: result.text });
        }),
      );
    });

    test("a failed reply is not counted [8/10]", async () => {
      const bot = await createTenant(system.admin, { model: "openai:cut-after-3" });
      expect((await api.chat(bot)).done?.finish_reason).toBe("error");
      expect(await waitForUsedMessages(system, bot)).toBe(0);
    });

    test("a failure of Parley is internal_error [D18/5-6] [6/5]", async () => {
      const result = await api.chat(await createBot("unconfigured:model"));
      expect(eventNames(result)).toEqual(["meta", "error", "done"]);
      expect(result.error).toEqual({ code: "internal_error", message: expect.stringMatching(/^Something went wrong/) });
      expect(result.done).toMatchObject({ finish_reason: "error", tokens_in: 0, tokens_out: 0 });
    });
  });

  describe("blocked messages", () => {
    test("a blocked message gets the fallback and done, calls no provider and is not counted [6/3-4] [6/10-11] [8/10] [D17/1] [D20/1]", async () => {
      const bot = await createTenant(system.admin);
      const { workspaceId, botSlug } = bot;
      const fallback = "Let us talk about something else.";
      await system.admin.moderation.addPattern({ workspaceId, botSlug, pattern: "for+bidden", fallback });
      const session_id = randomUUID();
      const result = await api.chat(bot, { session_id, message: "Something FORRRBIDDEN." });
      expect(eventNames(result)).toEqual(["meta", "blocked", "done"]);
      expect(result.events[1]?.data).toEqual({ reason: "blocked_pattern", fallback });
      expect(result.done).toEqual({
        finish_reason: "blocked",
        tokens_in: 0,
        tokens_out: 0,
        latency_ms: expect.any(Number),
        model: expect.any(String),
      });
      expect(system.provider.requests).toEqual([]);
      const { messages } = await readTranscript(system, bot, session_id);
      expect(messages.at(-1)).toMatchObject({ role: "assistant", status: "blocked" });
      expect(await waitForUsedMessages(system, bot)).toBe(0);
    });
  });

  describe("disconnects", () => {
    test("a disconnect cancels the provider request within 1 s, and the partial reply is stored but not counted [D16/1-3] [D17/1]", async () => {
      const bot = await createTenant(system.admin, { model: "openai:tokens-100-every-50" });
      let session_id = "";
      // One fast cancellation is enough, because a busy machine can only make a cancellation slower.
      const cancelMs = await findShortestMs(system, async () => {
        session_id = randomUUID();
        const disconnect = new AbortController();
        const response = await api.openChat(bot, { session_id }, { signal: disconnect.signal });
        let read = 0;
        const reading = (async () => {
          for await (const { event } of eventsOf(response)) if (event === "token" && ++read === 3) disconnect.abort();
        })();
        await expect(reading).rejects.toThrow();
        return waitForCancellation(system, Date.now());
      });
      expect(cancelMs).toBeLessThan(MAX_CANCEL_MS);
      await expect
        .poll(async () => (await readTranscript(system, bot, session_id)).messages.length, { timeout: 10_000 })
        .toBe(2);
      const { messages } = await readTranscript(system, bot, session_id);
      expect(messages.at(-1)).toMatchObject({ status: "cancelled", content: expect.stringMatching(/^t0 t1 t2 /) });
      expect(await waitForUsedMessages(system, bot)).toBe(0);
    });

    test("a disconnect before the first token cancels the provider request [D16/1]", async () => {
      const bot = await createBot("patient:hang");
      const cancelMs = await findShortestMs(system, async () => {
        const disconnect = new AbortController();
        const response = await api.openChat(bot, {}, { signal: disconnect.signal });
        while (system.provider.requests.length === 0) await sleep(10);
        disconnect.abort();
        await expect(response.text()).rejects.toThrow();
        return waitForCancellation(system, Date.now());
      });
      expect(cancelMs).toBeLessThan(MAX_CANCEL_MS);
    });
  });
}
