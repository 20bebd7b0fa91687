import { randomUUID } from "node:crypto";
import { Role } from "@parley/rpc/llm";
import { type FakeProvider, startFakeProvider } from "@parley/test-support";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { eventually, startTestProxy, statusOf, type TestProxy } from "../testing/llm-proxy.ts";

let provider: FakeProvider;
let proxy: TestProxy;
beforeAll(async () => {
  provider = await startFakeProvider();
  proxy = await startTestProxy({ environment: { OPENAI_BASE_URL: provider.url, DEFAULT_MODEL: "openai:default" } });
});
afterAll(async () => {
  await proxy.drop();
  await provider.close();
});
afterEach(() => provider.reset());

const verdict = { reason: "leak", fallback: "I cannot say." };

function ask(pattern: string, options: { turnId?: string } = {}) {
  return proxy.generate({
    ...options,
    prompt: { replyPatterns: [{ pattern, verdict }], messages: [{ role: Role.USER, content: "Hello?" }] },
  });
}

test("a reply in which a pattern matches ends as blocked: nothing of the match is sent, and the provider is left", async () => {
  provider.script(() => ({
    tokens: ["The code ", "word is sec", "ret", ", and ", ...Array.from({ length: 500 }, () => "so on ")],
    everyMs: 10,
  }));
  const turnId = randomUUID();
  const events = await ask("\\bsecret\\b", { turnId });
  expect(statusOf(events)).toBe("BLOCKED");
  expect(events.ends).toHaveLength(1);
  expect(events.end.blocked).toMatchObject(verdict);
  expect("The code word is ".startsWith(events.text), events.text).toBe(true);
  await eventually(
    () => provider.closedByClient().length,
    (closed) => closed === 1,
  );
  expect(provider.requests[0]?.tokensSent).toBeLessThan(100);
  const [row] = await proxy.rowsOf("ws_test", turnId);
  expect(row).toMatchObject({ outcome: "blocked", reason: "", estimated: true });
  expect(row?.tokensOut).toBeGreaterThan(0);
});

test("a match at the very end is blocked too", async () => {
  provider.script([{ tokens: ["The word is ", "secret"] }]);
  expect(statusOf(await ask("secret$"))).toBe("BLOCKED");
});

test("a reply without a match is sent whole, with its usage", async () => {
  provider.script([{ tokens: ["The sec", "retary is ", "out"] }]);
  const events = await ask("\\bsecret\\b");
  expect([statusOf(events), events.text]).toEqual(["COMPLETE", "The secretary is out"]);
  expect(events.end).toMatchObject({ tokensIn: 21, tokensOut: 34, tokensEstimated: false });
});

test("of a reply that fails, what was held back stays back", async () => {
  provider.script([{ tokens: ["The code word ", "is sec", "ret"], everyMs: 20, fault: "cut", afterTokens: 2 }]);
  const events = await ask("\\bsecret\\b");
  expect(statusOf(events)).toBe("PROVIDER_ERROR");
  expect("The code word is ".startsWith(events.text)).toBe(true);
});

test("the built-in model's words are looked at like any other's", async () => {
  const events = await proxy.generate({
    model: "builtin:extractive",
    prompt: {
      passages: [{ id: 1n, source: "a.md", text: "The code word is secret." }],
      replyPatterns: [{ pattern: "secret", verdict }],
      messages: [{ role: Role.USER, content: "What is the code word?" }],
    },
  });
  expect(statusOf(events)).toBe("BLOCKED");
  expect(events.text).not.toContain("secret");
});
