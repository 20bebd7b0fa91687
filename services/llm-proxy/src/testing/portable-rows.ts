import { randomUUID } from "node:crypto";
import { Role } from "@parley/rpc/llm";
import type { Reply, ToolServer } from "@parley/test-support";
import { expect, test } from "vitest";
import { statusOf, type TestProxy } from "./llm-proxy.ts";

export type PortableContext = {
  proxy: TestProxy;
  tools: ToolServer;
  model: string;
  /** Sets what a fake provider replies. A real provider replies to the message. */
  script: (replies: Reply[]) => void;
};

/** Any real model does these things, so the same tests run with fake providers and, with LIVE_PROVIDER_TESTS, with the real ones. */
export function definePortableRows(getContext: () => PortableContext): void {
  async function ask(message: string, replies: Reply[], { calls = false, maxOutputTokens = 0 } = {}) {
    const { proxy, tools, model, script } = getContext();
    script(replies);
    const turnId = randomUUID();
    const parameters = JSON.stringify({ type: "object", properties: { id: { type: "string" } }, required: ["id"] });
    const url = `${tools.url}/orders/{id}`;
    const value = { description: "Returns the state of an order.", method: "GET", url, parameters };
    const events = await proxy.generate({
      turnId,
      model,
      prompt: {
        system: "You help the customers of a shop. Answer in one short sentence.",
        messages: [{ role: Role.USER, content: message }],
        tools: calls ? [{ name: "order", secret: "", kind: { case: "http", value } }] : [],
        ...(maxOutputTokens > 0 && { settings: { maxOutputTokens, reasoningEffort: "" } }),
      },
    });
    const [row] = await proxy.rowsOf("ws_test", turnId);
    return { events, row, status: statusOf(events) };
  }

  test("a real question gets a text, one end and the provider's counts", async () => {
    const { events, row, status } = await ask("Say hello.", [{ tokens: ["Hello", " there."] }]);
    expect([status, row?.estimated, row?.attempts, row?.finishDetail]).toEqual(["COMPLETE", false, 1, ""]);
    expect(events.text.trim()).not.toBe("");
    expect(row?.tokensIn).toBeGreaterThan(0);
    expect(row?.tokensOut).toBeGreaterThan(0);
  });

  test("a bot's limit of tokens cuts a long reply, which is complete", async () => {
    const replies: Reply[] = [{ tokens: ["one", " two"], finishReason: "length" }];
    const { row, status } = await ask("Write the numbers from one to five hundred, in words.", replies, {
      maxOutputTokens: 48,
    });
    expect([status, row?.finishDetail]).toEqual(["COMPLETE", "length"]);
  });

  test("the model calls a tool, and answers with its result", async () => {
    const replies: Reply[] = [
      { toolCalls: [{ name: "order", arguments: '{"id":"A1"}' }] },
      { tokens: ["It was sent by ", "zeppelin."] },
    ];
    const { tools } = getContext();
    tools.respondWith(() => ({ body: '{"state":"sent by zeppelin"}' }));
    const { events, row, status } = await ask("Use the tool: what is the state of my order A1?", replies, {
      calls: true,
    });
    expect([status, tools.requests.map(({ url }) => url)]).toEqual(["COMPLETE", ["/orders/A1"]]);
    expect([row?.rounds, row?.toolCalls]).toEqual([2, 1]);
    expect(events.text.toLowerCase()).toContain("zeppelin");
  });

  test("a cancelled reply ends at once", async () => {
    const { proxy, model, script } = getContext();
    script([{ tokens: Array.from({ length: 500 }, (_, number) => ` ${number}`), everyMs: 20 }]);
    const controller = new AbortController();
    let abortedAt = 0;
    const onText = () => {
      abortedAt ||= performance.now();
      controller.abort();
    };
    const message = "Write the numbers from one to five hundred, in words.";
    const aborted = proxy.generate({ model, message, signal: controller.signal, onText });
    await expect(aborted).rejects.toThrow();
    expect(abortedAt).toBeGreaterThan(0);
    expect(performance.now() - abortedAt).toBeLessThan(1_000);
  });
}
