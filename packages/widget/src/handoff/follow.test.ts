import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { follow } from "./follow.ts";

/** What the service responds, in this order: the text of a stream, a refusal, or a lost connection. */
let responses: (() => Response)[];
let lastEventIds: string[];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  vi.stubGlobal("addEventListener", () => undefined);
  responses = [];
  lastEventIds = [];
  vi.stubGlobal("fetch", async (_url: string, { headers }: { headers: Record<string, string> }) => {
    lastEventIds.push(String(headers["Last-Event-ID"]));
    return (responses.shift() ?? lost)();
  });
});
afterEach(() => {
  vi.useRealTimers();
  vi.unstubAllGlobals();
});

const streamOf = (text: string) => () => new Response(text);
const refusalOf =
  (status: number, error: string, headers = {}) =>
  () =>
    new Response(JSON.stringify({ error }), { status, headers });
const lost = (): Response => {
  throw new TypeError("network");
};
const message = (id: number) => `id: ${id}\nevent: message\ndata: {"id":"${id}"}\n\n`;
const END = 'event: state\ndata: {"state":"bot"}\n\n';

/** Follows, and returns the events and the number of connections that were lost. */
async function run(signal = new AbortController().signal) {
  const events: string[] = [];
  const onLost = vi.fn();
  const result = follow({
    url: "https://parley.example/api/chat/live/",
    after: 3,
    signal,
    headers: async () => ({}),
    onEvent(name, data) {
      events.push(`${name} ${data.id ?? data.state}`);
      return data.state !== "bot";
    },
    onLost,
  }).then(
    () => "ended",
    ({ code }: { code: string }) => code,
  );
  const settled = vi.fn();
  void result.then(settled);
  while (settled.mock.calls.length === 0) {
    await vi.advanceTimersByTimeAsync(1_000);
  }
  return { result: await result, events, lostCount: onLost.mock.calls.length };
}

it("connects again after the last message, however often the connection is lost, until the bot answers", async () => {
  responses = [streamOf(message(4)), lost, refusalOf(503, "unavailable"), ...Array.from({ length: 8 }, () => lost)];
  responses.push(streamOf(message(5) + END + message(6)));
  const { result, events, lostCount } = await run();
  expect(result).toBe("ended");
  expect(events).toEqual(["message 4", "message 5", "state bot"]);
  expect(lastEventIds.slice(0, 2)).toEqual(["3", "4"]);
  expect(lostCount).toBe(11);
});

it("waits longer each time while the connections end soon, also if each has an event", async () => {
  responses = Array.from({ length: 8 }, () => streamOf('event: state\ndata: {"state":"assigned"}\n\n'));
  responses.push(streamOf(END));
  const startedAt = Date.now();
  expect((await run()).result).toBe("ended");
  // Three quarters of 0.5, 1, 2, 4, 8, 16, 16 and 16 s.
  expect(Date.now() - startedAt).toBeGreaterThanOrEqual(47_600);
});

it("waits as long as the service asks after too many requests", async () => {
  responses = [refusalOf(429, "rate_limited", { "Retry-After": "30" }), streamOf(END)];
  const startedAt = Date.now();
  expect((await run()).result).toBe("ended");
  expect(Date.now() - startedAt).toBeGreaterThanOrEqual(30_000);
  expect(lastEventIds).toHaveLength(2);
});

it("asks for another token once, and then throws the refusal", async () => {
  const expired = refusalOf(401, "invalid_visitor_token");
  responses = [expired, streamOf(message(4)), expired, expired];
  expect((await run()).result).toBe("invalid_visitor_token");
  expect(lastEventIds).toEqual(["3", "3", "4", "4"]);
});

it("throws a refusal at once", async () => {
  responses = [refusalOf(404, "session_not_found")];
  expect(await run()).toEqual({ result: "session_not_found", events: [], lostCount: 0 });
});
