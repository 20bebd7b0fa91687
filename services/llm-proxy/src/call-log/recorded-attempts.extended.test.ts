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

/** The names complete the sentence "the provider …". */
const BEHAVIOURS: Record<string, Reply> = {
  responds: {},
  "refuses the key": { status: 401 },
  "does not have the model": { status: 404 },
  fails: { status: 500 },
  "limits the rate": { status: 429, headers: { "retry-after": "0" } },
  "asks for a long wait": { status: 429, headers: { "retry-after": "60" } },
  stalls: { hangs: true },
  "stalls after a token": { fault: "stall", afterTokens: 1, everyMs: 5 },
  "cuts the connection before a token": { fault: "cut", afterTokens: 0 },
  "cuts the connection after tokens": { fault: "cut", afterTokens: 3, everyMs: 5 },
  "sends an error in the stream": { fault: "error", afterTokens: 2, everyMs: 5 },
  "ends without a finish reason": { fault: "end", afterTokens: 2, everyMs: 5 },
  "sends HTML": { headers: { "content-type": "text/html" }, body: "<html>" },
  "sends an error with status 200": {
    headers: { "content-type": "text/event-stream" },
    body: 'data: {"error":{"code":429}}\n\n',
  },
  "sends no usage": { usage: null },
  "sends invalid usage": { usage: { prompt_tokens: -1, completion_tokens: 1e300 } },
};

test("the call log matches the requests that the providers received, even for failures", async () => {
  const behaviours = Object.keys(BEHAVIOURS);
  // Pairs each behaviour of the first provider with two of the second provider: with another behaviour, and with `responds`.
  const pairs = behaviours.flatMap((one, index) =>
    [behaviours[(index * 5 + 3) % behaviours.length] ?? "", "responds"].map((two) => [one, two]),
  );
  let tooLongLatencies = 0;
  for (const [one = "", two = ""] of pairs) {
    first.reset();
    second.reset();
    first.script(() => BEHAVIOURS[one]);
    second.script(() => BEHAVIOURS[two]);
    const turnId = randomUUID();
    const startedAt = Date.now();
    const events = await proxy.generate({ turnId });
    const scenario = `${one}, then ${two}`;
    const [row] = await proxy.rowsOf("ws_test", turnId);
    if (row === undefined) throw new Error(scenario);
    const sent = row.tries.filter((attempt) => attempt.sent);
    const received = [...first.requests, ...second.requests];

    expect(row.attempts, scenario).toBe(received.length);
    expect(
      sent.map((attempt) => attempt.model.split(":")[1]),
      scenario,
    ).toEqual(received.map((request) => request.model));
    expect(row.failovers, scenario).toBe(row.tries.some((attempt) => attempt.model === "second:two") ? 1 : 0);
    // Each request reached its provider within 1 s of the time that the row records.
    for (const [index, attempt] of sent.entries()) {
      const request = received[index];
      if (attempt.outcome === "complete") expect(request?.endedAt, scenario).toBeDefined();
      expect(
        Math.abs(startedAt + attempt.startedMs + attempt.queueMs - (request?.receivedAt ?? 0)),
        scenario,
      ).toBeLessThan(1_000);
      if (attempt.firstTokenMs > 0) expect(request?.tokensSent, scenario).toBeGreaterThan(0);
    }
    expect(row.outcome, scenario).toBe(statusOf(events).toLowerCase());
    expect(row.tries.at(-1)?.outcome, scenario).toBe(row.outcome);
    expect([row.tokensIn, row.tokensOut, row.estimated, row.attempts], scenario).toEqual([
      events.end.tokensIn,
      events.end.tokensOut,
      events.end.tokensEstimated,
      events.end.attempts,
    ]);
    // The tokens are estimates if the provider "sends no usage" or "sends invalid usage", otherwise the provider's counts.
    const lastBehaviour = row.model === "first:one" ? one : two;
    if (row.outcome === "complete") expect(row.estimated, scenario).toBe(lastBehaviour.endsWith("usage"));
    if (row.outcome === "complete" && !row.estimated) expect([row.tokensIn, row.tokensOut], scenario).toEqual([21, 34]);
    if (row.latencyMs > Date.now() - startedAt + 50) tooLongLatencies++;
  }
  expect(tooLongLatencies).toBe(0);
}, 60_000);
