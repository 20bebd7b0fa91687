import { randomUUID } from "node:crypto";
import { Role } from "@parley/rpc/llm";
import { type FakeProvider, startFakeProvider } from "@parley/test-support";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { eventually, startTestProxy, statusOf, type TestProxy } from "../testing/llm-proxy.ts";

let first: FakeProvider;
let second: FakeProvider;
let proxy: TestProxy;
beforeAll(async () => {
  [first, second] = await Promise.all([startFakeProvider(), startFakeProvider()]);
  const common = "timeouts: { first_token_ms: 2000, silence_ms: 2000 }, retries: { max_attempts: 2, base_delay_ms: 1 }";
  proxy = await startTestProxy({
    config: `
      default_model: route:main
      providers:
        first: { base_url: ${first.url}, ${common}, breaker: { failures: 1000 } }
        second: { base_url: ${second.url}, ${common}, breaker: { failures: 3, cooldown_ms: 1500 } }
        narrow: { base_url: ${second.url}, concurrency: { max_active: 2, max_queued: 1, max_wait_ms: 150 } }
      routes:
        main: ["first:default", "second:default", "builtin:extractive"]
        narrow: ["narrow:default", "first:default"]
        external: ["first:default", "second:default"]
    `,
  });
});
afterAll(async () => {
  await proxy.drop();
  await Promise.all([first.close(), second.close()]);
});
afterEach(() => {
  first.reset();
  second.reset();
});

test("a model may think for longer than the timeouts if it shows signs of life", async () => {
  const chunk = (delta: object) => ({ choices: [{ index: 0, delta, finish_reason: null }] });
  first.script([
    { preamble: Array.from({ length: 8 }, () => chunk({ reasoning_content: "Hm" })), everyMs: 500, tokens: ["42"] },
  ]);
  const events = await proxy.generate({ model: "first:default" });
  expect([statusOf(events), events.text, events.end.attempts]).toEqual(["COMPLETE", "42", 1]);
});

describe("what a provider reports about a failed attempt is in the call log without texts of the request", () => {
  const json = { "content-type": "application/json" };
  const message = "Invalid content: 'My PIN is 4711, says Zlatan'. Key sk-test-1234567890abcdef is wrong.";
  const redacted = expect.stringMatching(/^Invalid content: .*\[…\].* is wrong\.$/);
  test.each<[string, Parameters<FakeProvider["script"]>[0], object]>([
    [
      "with a status and an error object",
      [{ status: 400, headers: json, body: JSON.stringify({ error: { message, type: "invalid_request_error" } }) }],
      { providerStatus: 400, providerCode: "invalid_request_error", providerMessage: redacted },
    ],
    [
      "as a list",
      [
        {
          status: 400,
          headers: json,
          body: JSON.stringify([{ error: { message, status: "INVALID_ARGUMENT", code: 400 } }]),
        },
      ],
      { providerStatus: 400, providerCode: "INVALID_ARGUMENT", providerMessage: redacted },
    ],
    [
      "as a detail",
      [{ status: 422, headers: json, body: JSON.stringify({ detail: message }) }],
      { providerStatus: 422, providerMessage: redacted },
    ],
    [
      "as a JSON text",
      [{ status: 401, headers: json, body: JSON.stringify(message) }],
      { providerStatus: 401, providerMessage: redacted },
    ],
    [
      "as a text",
      [{ status: 404, headers: { "content-type": "text/plain" }, body: message }],
      { providerStatus: 404, providerMessage: redacted },
    ],
    [
      "as an HTML page",
      [{ status: 403, headers: { "content-type": "text/html" }, body: "<html><title>403 Forbidden</title>" }],
      { providerStatus: 403, providerMessage: "403 Forbidden" },
    ],
    [
      "with a status alone",
      [{ status: 404, headers: json, body: " " }],
      { providerStatus: 404, providerCode: "", providerMessage: "" },
    ],
    [
      "as JSON with the status 200",
      [{ headers: json, body: JSON.stringify({ error: { message, code: "bad_request" } }) }],
      { providerStatus: 200, providerCode: "bad_request", providerMessage: redacted },
    ],
    [
      "in the stream",
      [
        {
          headers: { "content-type": "text/event-stream" },
          body: `data: ${JSON.stringify({ error: { message, code: "overloaded" } })}\n\n`,
        },
      ],
      { providerStatus: 200, providerCode: "overloaded", providerMessage: redacted },
    ],
  ])("%s", async (_, script, expected) => {
    first.script(script);
    const turnId = randomUUID();
    const messages = [{ role: Role.USER, content: "My PIN is 4711, says Zlatan" }];
    const events = await proxy.generate({ turnId, model: "first:default", prompt: { messages } });
    expect(statusOf(events)).not.toBe("COMPLETE");
    expect(
      JSON.stringify(events, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value)),
    ).not.toContain("Invalid content");
    const [row] = await proxy.rowsOf("ws_test", turnId);
    expect(row?.tries[0]).toMatchObject(expected);
    // Random ids can contain the number.
    expect(JSON.stringify({ ...row, callId: "", turnId: "" })).not.toMatch(/4711|Zlatan|sk-test/);
  });
});

describe("a route", () => {
  test.each([
    ["refuses the key", { status: 401 }, 1],
    ["does not have the model", { status: 404 }, 1],
    ["fails", { status: 500 }, 2],
    ["asks for a long wait", { status: 429, headers: { "retry-after": "60" } }, 1],
    ["closes the connection", { fault: "cut", afterTokens: 0 }, 2],
    ["sends an error in the stream", { fault: "error", afterTokens: 0 }, 2],
    ["does not respond", { hangs: true }, 1],
    ["sends an HTML page", { headers: { "content-type": "text/html" }, body: "<html>" }, 1],
  ] as const)("fails over to its next model if the provider of its first model %s", async (_, response, attempts) => {
    first.script(() => response);
    const turnId = randomUUID();
    const events = await proxy.generate({ turnId });
    expect(statusOf(events)).toBe("COMPLETE");
    expect(events.end).toMatchObject({ model: "second:default", attempts: attempts + 1 });
    expect(events.text).toBe("Hello from the scripted provider, token by token.");
    const [row] = await proxy.rowsOf("ws_test", turnId);
    expect(row).toMatchObject({
      model: "second:default",
      failovers: 1,
      attempts: attempts + 1,
      outcome: "complete",
      reason: "",
    });
    expect(row?.tries.map(({ model, sent, outcome, next }) => [model, sent, outcome === "complete", next])).toEqual([
      ...Array.from({ length: attempts }, (_, index) => [
        "first:default",
        true,
        false,
        index === attempts - 1 ? "failover" : "retry",
      ]),
      ["second:default", true, true, ""],
    ]);
    expect([first.requests.length, second.requests.length]).toEqual([attempts, 1]);
  });

  test.each(["cut", "stall", "error", "end"] as const)(
    "does not fail over if the stream has the fault %s after the first text",
    async (fault) => {
      first.script(() => ({ everyMs: 20, fault, afterTokens: 3 }));
      const events = await proxy.generate();
      expect(statusOf(events)).toBe(fault === "stall" ? "PROVIDER_TIMEOUT" : "PROVIDER_ERROR");
      expect("Hello from the").toContain(events.text);
      expect(events.text).not.toBe("");
      expect(events.end.model).toBe("first:default");
      expect(second.requests).toEqual([]);
    },
  );

  test("uses its last model if all other models fail", async () => {
    first.script(() => ({ status: 500 }));
    second.script(() => ({ status: 401 }));
    const events = await proxy.generate({ message: "Where is the moon?" });
    // The built-in model is the route's last model, and always answers.
    expect(events.end).toMatchObject({ model: "builtin:extractive", attempts: 4 });
    expect(events.text).toMatch(/^Sorry, I don't know/);
  });
});

describe("a breaker", () => {
  test("opens after consecutive faults, refuses requests, and closes when the provider is back", async () => {
    second.script(() => ({ status: 500 }));
    for (let count = 0; count < 2; count++) await proxy.generate({ model: "second:x" });
    const sent = second.requests.length;
    expect(sent).toBe(3);
    const turnId = randomUUID();
    const events = await proxy.generate({ model: "second:x", turnId });
    // Read the metric first: reading the call log may take longer than the cooldown.
    expect(await proxy.metric('parley_llm_breaker_state{provider="second",service="llm-proxy"}')).toBe(2);
    const [refused] = await proxy.rowsOf("ws_test", turnId);
    expect(refused?.tries).toMatchObject([
      { sent: false, outcome: "provider_error", reason: "breaker_open", next: "end" },
    ]);
    expect([statusOf(events), events.end.attempts, events.end.model]).toEqual(["PROVIDER_ERROR", 0, ""]);
    expect(second.requests).toHaveLength(sent);
    second.script(() => undefined);
    await eventually(
      () => proxy.generate({ model: "second:x" }),
      (again) => statusOf(again) === "COMPLETE",
    );
    expect(await proxy.metric('parley_llm_breaker_state{provider="second",service="llm-proxy"}')).toBe(0);
  });

  test("refuses a route's last model, and the generation reports the model that received the last request", async () => {
    first.script(() => ({ status: 500 }));
    second.script(() => ({ status: 500 }));
    for (let count = 0; count < 2; count++) await proxy.generate({ model: "second:x" });
    const events = await proxy.generate({ model: "route:external" });
    expect([statusOf(events), events.end.attempts, events.end.model]).toEqual(["PROVIDER_ERROR", 2, "first:default"]);
    second.script(() => undefined);
    await eventually(
      () => proxy.generate({ model: "second:x" }),
      (again) => statusOf(again) === "COMPLETE",
    );
  });

  test("stays closed while the provider refuses requests with status 400", async () => {
    second.script(() => ({ status: 400 }));
    for (let count = 0; count < 6; count++) await proxy.generate({ model: "second:x" });
    expect(second.requests).toHaveLength(6);
  });

  test("stays closed when streams are cut off after their first text", async () => {
    second.script(() => ({ everyMs: 10, fault: "cut", afterTokens: 3 }));
    for (let count = 0; count < 6; count++) await proxy.generate({ model: "second:x" });
    expect(second.requests).toHaveLength(6);
  });
});

describe("the concurrency limit", () => {
  test("if the queue is full or the wait is too long, a route fails over to its next model, and a generation without a route is refused", async () => {
    second.script(() => ({ everyMs: 60 }));
    const generations = Array.from({ length: 5 }, () => proxy.generate({ model: "narrow:x" }));
    const statuses = (await Promise.all(generations)).map(statusOf).sort();
    expect(statuses).toEqual([
      "COMPLETE",
      "COMPLETE",
      "PROVIDER_RATE_LIMITED",
      "PROVIDER_RATE_LIMITED",
      "PROVIDER_RATE_LIMITED",
    ]);
    expect(second.requests).toHaveLength(2);
    const routed = await Promise.all(Array.from({ length: 5 }, () => proxy.generate({ model: "route:narrow" })));
    expect(routed.map(statusOf)).toEqual(Array(5).fill("COMPLETE"));
    expect(first.requests).toHaveLength(3);
  });

  test("releases the slot however a generation ends", async () => {
    second.script(
      (_, index) => [{ status: 401 }, { fault: "cut" as const, afterTokens: 2 }, { hangs: true }][index % 3],
    );
    for (let count = 0; count < 5; count++) {
      const caller = new AbortController();
      const sent = second.requests.length;
      const ended = proxy.generate({ model: "narrow:x", signal: caller.signal }).catch(() => undefined);
      await eventually(
        () => second.requests.length,
        (length) => length > sent,
      );
      setTimeout(() => caller.abort(), 50);
      await ended;
    }
    second.script(() => undefined);
    const events = await Promise.all([proxy.generate({ model: "narrow:x" }), proxy.generate({ model: "narrow:x" })]);
    expect(events.map(statusOf)).toEqual(["COMPLETE", "COMPLETE"]);
  });
});
