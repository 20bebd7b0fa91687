import { create } from "@bufbuild/protobuf";
import { PromptSchema, Role } from "@parley/rpc/llm";
import { GENERATION_STATUSES, OUTCOMES, turnOutcomeAfterGeneration } from "@parley/rpc/outcomes";
import { type FakeProvider, startFakeProvider } from "@parley/test-support";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { Generation } from "../../generation/generation.ts";
import type { GenerationEvent } from "../../generation/generation-result.ts";
import { meterRounds } from "../../generation/meter.ts";
import { type OpenAiSettings, PROVIDER_DEFAULTS } from "../../settings/settings.ts";
import { Toolbox } from "../../tools/toolbox.ts";
import { CircuitBreaker } from "../circuit-breaker.ts";
import { ConcurrencyLimiter } from "../concurrency-limiter.ts";
import type { Provider } from "../provider.ts";
import { createOpenAiProvider } from "./openai.client.ts";
import { STREAM_SHAPES, type StreamShape } from "./stream-shapes.ts";

const TOOL_NAMES = ["weather", "time", "time_zone", "ping"];
const FINAL_TEXT = "Done.";

let server: FakeProvider;
let provider: Provider;
let settings: OpenAiSettings;
beforeAll(async () => {
  server = await startFakeProvider();
  const retries = { ...PROVIDER_DEFAULTS.retries, maxAttempts: 1 };
  const required = {
    name: "p",
    kind: "openai",
    baseUrl: server.url,
    apiKey: "key",
    headers: {},
    sampling: {},
    includeUsage: true,
  };
  settings = { ...PROVIDER_DEFAULTS, ...required, retries, prices: new Map() } as unknown as OpenAiSettings;
  provider = createOpenAiProvider(settings);
});
afterAll(async () => {
  await provider.close();
  await server.close();
});
beforeEach(() => server.reset());

/** Runs a generation whose first request gets the shape's stream. The request after a round of tool calls gets FINAL_TEXT. */
async function generate({ stream, status = 200 }: StreamShape) {
  const body = stream.map((each) => (typeof each === "string" ? each : `data: ${JSON.stringify(each)}\n\n`)).join("");
  const headers = { "content-type": status === 200 ? "text/event-stream" : "application/json" };
  server.script([
    { status, headers, body },
    { tokens: [FINAL_TEXT], usage: { prompt_tokens: 0, completion_tokens: 0 } },
  ]);
  const breaker = new CircuitBreaker(settings.breaker, () => 0);
  const concurrency = new ConcurrencyLimiter(settings.concurrency);
  const guardedProvider = { settings, provider, breaker, concurrency, embeddings: { breaker, concurrency } };
  const calls: [string, string][] = [];
  const tools = TOOL_NAMES.map((name) => ({
    kind: "http" as const,
    function: { name, description: name, parameters: { type: "object" } },
    findProblem: () => undefined,
    call: async (args: object) => {
      calls.push([name, JSON.stringify(args)]);
      return "sunny";
    },
  }));
  const toolbox = new Toolbox(new Map(tools.map((tool) => [tool.function.name, tool])), {
    limits: { timeoutMs: 1_000, maxRounds: 2, maxCalls: 10 } as never,
    now: () => 0,
    onCall: () => undefined,
    close: async () => undefined,
  });
  const prompt = create(PromptSchema, { messages: [{ role: Role.USER, content: "Hi" }], fallback: "No." });
  const request = { workspaceId: "ws", turnId: "t", model: "p:m", prompt };
  const deps = { now: () => performance.now(), random: () => 0, onFailure: () => undefined };
  const generation = new Generation(request, new AbortController().signal, deps);
  const events: GenerationEvent[] = [];
  const output = {
    sink: (event: GenerationEvent) => void events.push(event),
    waitForMatching: () => Promise.resolve(),
    sendHeldBackText: () => undefined,
  };
  const ending = await generation.run([{ guardedProvider, name: "m", model: "p:m" }], toolbox, output as never);
  const [usage] = await meterRounds(generation.attempts, undefined);
  return { ending, calls, usage, text: events.filter((event) => typeof event === "string").join("") };
}

test("the table has at least 60 shapes, each with a name of its own", () => {
  expect(new Set(STREAM_SHAPES.map(({ name }) => name)).size).toBe(STREAM_SHAPES.length);
  expect(STREAM_SHAPES.length).toBeGreaterThanOrEqual(60);
});

test.each(STREAM_SHAPES)("$name", async (shape) => {
  const { ending, calls, usage, text } = await generate(shape);
  const { outcome, reason, finishDetail, verdict } = ending;
  const expectedCalls = (shape.calls ?? []).map(([name, args]) => [name, JSON.stringify(JSON.parse(args))]);
  const isCounted = OUTCOMES[turnOutcomeAfterGeneration(GENERATION_STATUSES[outcome]).outcome].settleOutcome === "done";
  expect({
    text,
    calls,
    ending: outcome === "complete" ? finishDetail || "stop" : outcome === "blocked" ? outcome : reason,
    isCounted,
    tokens: usage?.isEstimated ? undefined : [usage?.tokensIn, usage?.tokensOut],
  }).toEqual({
    text: shape.text + (shape.calls === undefined ? "" : FINAL_TEXT),
    calls: expectedCalls,
    ending: shape.ending,
    isCounted: shape.ending === "stop" || shape.ending === "length",
    tokens: shape.tokens,
  });
  if (shape.ending === "blocked") expect(verdict).toEqual({ reason: "refusal", fallback: "No." });
});
