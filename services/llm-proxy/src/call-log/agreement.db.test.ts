import { randomUUID } from "node:crypto";
import { type FakeProvider, type Reply, startFakeProvider } from "@parley/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestProxy, statusOf, type TestProxy } from "../testing/llm-proxy.ts";

let first: FakeProvider;
let second: FakeProvider;
let proxy: TestProxy;
beforeAll(async () => {
  [first, second] = await Promise.all([startFakeProvider(), startFakeProvider()]);
  const common = "retries: { max_attempts: 2, base_delay_ms: 1 }, timeouts: { first_token_ms: 400, silence_ms: 400 }";
  proxy = await startTestProxy({
    config: `
      default_model: route:both
      providers:
        first: { base_url: ${first.url}, ${common}, breaker: { failures: 4, cooldown_ms: 150 } }
        second: { base_url: ${second.url}, ${common}, breaker: { failures: 1000 } }
      routes: { both: ["first:one", "second:two"] }
    `,
  });
});
afterAll(async () => {
  await proxy.drop();
  await Promise.all([first.close(), second.close()]);
});

/** What a provider can do wrong, and right. */
const WAYS: Record<string, Reply> = {
  answers: {},
  "refuses our key": { status: 401 },
  "does not know the model": { status: 404 },
  fails: { status: 500 },
  "limits the rate": { status: 429, headers: { "retry-after": "0" } },
  "limits for long": { status: 429, headers: { "retry-after": "60" } },
  stalls: { hangs: true },
  "stalls after a token": { fault: "stall", afterTokens: 1, everyMs: 5 },
  "cuts before a token": { fault: "cut", afterTokens: 0 },
  "cuts after tokens": { fault: "cut", afterTokens: 3, everyMs: 5 },
  "says that it failed, amid a stream": { fault: "error", afterTokens: 2, everyMs: 5 },
  "ends without an end": { fault: "end", afterTokens: 2, everyMs: 5 },
  "lies about its type": { headers: { "content-type": "text/html" }, body: "<html>" },
  "lies about its success": {
    headers: { "content-type": "text/event-stream" },
    body: 'data: {"error":{"code":429}}\n\n',
  },
  "counts nothing": { usage: null },
  "counts nonsense": { usage: { prompt_tokens: -1, completion_tokens: 1e300 } },
};

test("the ledger's rows agree with what the providers saw, call by call, whatever they do", async () => {
  const ways = Object.keys(WAYS);
  const pairs = ways.flatMap((one, index) =>
    [ways[(index * 5 + 3) % ways.length] ?? "", "answers"].map((two) => [one, two]),
  );
  let late = 0;
  for (const [one = "", two = ""] of pairs) {
    first.reset();
    second.reset();
    first.script(() => WAYS[one]);
    second.script(() => WAYS[two]);
    const turnId = randomUUID();
    const began = Date.now();
    const events = await proxy.generate({ turnId });
    const what = `${one}, then ${two}`;
    const [row] = await proxy.rowsOf("ws_test", turnId);
    if (row === undefined) throw new Error(what);
    const sent = row.tries.filter((tried) => tried.sent);
    const seen = [...first.requests, ...second.requests];

    // As many calls as were seen, of the models that were asked for, in that order.
    expect(row.attempts, what).toBe(seen.length);
    expect(
      sent.map((tried) => tried.model.split(":")[1]),
      what,
    ).toEqual(seen.map((request) => request.model));
    expect(row.failovers, what).toBe(row.tries.some((tried) => tried.model === "second:two") ? 1 : 0);
    // A call that is said to have completed was sent to its end, and one that is not was not.
    for (const [index, tried] of sent.entries()) {
      const request = seen[index];
      if (tried.outcome === "complete") expect(request?.endedAt, what).toBeDefined();
      expect(Math.abs(began + tried.startedMs + tried.queueMs - (request?.receivedAt ?? 0)), what).toBeLessThan(1_000);
      if (tried.firstTokenMs > 0) expect(request?.tokensSent, what).toBeGreaterThan(0);
    }
    // One end, and the row says the same of it as the stream.
    expect(events.ends, what).toHaveLength(1);
    expect(row.outcome, what).toBe(statusOf(events).toLowerCase());
    expect(row.tries.at(-1)?.outcome, what).toBe(row.outcome);
    expect([row.tokensIn, row.tokensOut, row.estimated, row.attempts], what).toEqual([
      events.end.tokensIn,
      events.end.tokensOut,
      events.end.tokensEstimated,
      events.end.attempts,
    ]);
    // Tokens are the provider's own count where it gave one, and where it gave none marked as ours.
    const answeredBy = row.model === "first:one" ? one : two;
    if (row.outcome === "complete") expect(row.estimated, what).toBe(answeredBy.startsWith("counts n"));
    if (row.outcome === "complete" && !row.estimated) expect([row.tokensIn, row.tokensOut], what).toEqual([21, 34]);
    if (row.latencyMs > Date.now() - began + 50) late++;
  }
  expect(late).toBe(0);
}, 60_000);
