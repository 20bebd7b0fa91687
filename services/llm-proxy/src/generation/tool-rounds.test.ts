import { create } from "@bufbuild/protobuf";
import { PromptSchema, Role } from "@parley/rpc/llm";
import { type FakeProvider, startFakeProvider } from "@parley/test-support";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { CircuitBreaker } from "../providers/circuit-breaker.ts";
import { ConcurrencyLimiter } from "../providers/concurrency-limiter.ts";
import { createOpenAiProvider } from "../providers/openai/openai.client.ts";
import type { Provider } from "../providers/provider.ts";
import { type OpenAiSettings, PROVIDER_DEFAULTS } from "../settings/settings.ts";
import { Toolbox } from "../tools/toolbox.ts";
import { Generation } from "./generation.ts";
import type { GenerationEvent } from "./generation-result.ts";

let server: FakeProvider;
let settings: OpenAiSettings;
let provider: Provider;
beforeAll(async () => {
  server = await startFakeProvider();
  const required = {
    name: "p",
    kind: "openai",
    baseUrl: server.url,
    apiKey: "key",
    headers: {},
    sampling: {},
    prices: new Map(),
  };
  settings = { ...PROVIDER_DEFAULTS, ...required } as unknown as OpenAiSettings;
  provider = createOpenAiProvider(settings);
});
afterAll(async () => {
  await provider.close();
  await server.close();
});
afterEach(() => server.reset());

const SECRET = "opaque-signature";

/** A reply that calls the tool, with fields that only its model's provider may get back. */
function callingReply(id: string | undefined) {
  const chunk = (delta: object, finish: string | null = null) =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
  const call = {
    index: 0,
    ...(id !== undefined && { id }),
    function: { name: "find", arguments: "" },
    extra_content: { google: { thought_signature: SECRET } },
  };
  return {
    headers: { "content-type": "text/event-stream" },
    body: [
      chunk({ role: "assistant", reasoning_content: `${SECRET} ` }),
      chunk({ reasoning_content: "thoughts", content: "<think>Hm</think>Let me see. " }),
      chunk({ tool_calls: [call] }),
      chunk({}, "tool_calls"),
      "data: [DONE]\n\n",
    ].join(""),
  };
}

const ASSISTANT_MESSAGE = {
  role: "assistant",
  content: "<think>Hm</think>Let me see. ",
  reasoning_content: `${SECRET} thoughts`,
};
const toolCall = (id: string) => ({
  id,
  type: "function",
  function: { name: "find", arguments: "{}" },
  extra_content: { google: { thought_signature: SECRET } },
});

async function generate(models: string[]) {
  const tool = {
    kind: "http" as const,
    function: { name: "find", description: "d", parameters: { type: "object" } },
    findProblem: () => undefined,
    call: async () => "found",
  };
  const toolbox = new Toolbox(new Map([["find", tool]]), {
    limits: { timeoutMs: 1_000, maxRounds: 4, maxCalls: 10 } as never,
    now: () => 0,
    onCall: () => undefined,
    close: async () => undefined,
  });
  const prompt = create(PromptSchema, { messages: [{ role: Role.USER, content: "Hi" }] });
  const request = { workspaceId: "ws", turnId: "t", model: "", prompt };
  const deps = { now: () => performance.now(), random: () => 0, onFailure: () => undefined };
  const generation = new Generation(request, new AbortController().signal, deps);
  const events: GenerationEvent[] = [];
  const output = {
    sink: (event: GenerationEvent) => void events.push(event),
    waitForMatching: () => Promise.resolve(),
    sendHeldBackText: () => undefined,
  };
  const candidates = models.map((name) => {
    const breaker = new CircuitBreaker(settings.breaker, () => 0);
    const concurrency = new ConcurrencyLimiter(settings.concurrency);
    const guardedProvider = { settings, provider, breaker, concurrency, embeddings: { breaker, concurrency } };
    return { guardedProvider, name, model: `p:${name}` };
  });
  const ending = await generation.run(candidates, toolbox, output as never);
  const messages = server.requests.map(({ body }) => (body as { messages: Record<string, unknown>[] }).messages);
  return { ending, events, messages };
}

test("a model gets its earlier messages of the reply back as it sent them, in each later round", async () => {
  server.script([callingReply("id-1"), callingReply("id-2"), { tokens: ["Done."] }]);
  const { ending, messages } = await generate(["m"]);
  expect(ending.outcome).toBe("complete");
  const rounds = ["id-1", "id-2"].map((id) => [
    { ...ASSISTANT_MESSAGE, tool_calls: [toolCall(id)] },
    { role: "tool", tool_call_id: id, content: "found" },
  ]);
  expect(messages[1]?.slice(-2)).toEqual(rounds[0]);
  expect(messages[2]?.slice(-4)).toEqual(rounds.flat());
});

test("calls without ids get ids that differ between rounds", async () => {
  server.script([callingReply(undefined), callingReply(undefined), { tokens: ["Done."] }]);
  const { messages } = await generate(["m"]);
  const ids = messages[2]?.flatMap(({ tool_call_id: id }) => id ?? []) as string[];
  expect(new Set(ids).size).toBe(2);
  for (const id of ids) expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
});

test("another model of the route gets the calls and their results, but nothing else of the earlier messages", async () => {
  const { body, ...reply } = callingReply("an id of another format");
  // After the first text, a failure would end the generation instead of failing over.
  server.script([{ ...reply, body: body.replace("Let me see. ", "") }, { status: 400 }, { tokens: ["Done."] }]);
  const { ending, messages } = await generate(["m", "n"]);
  expect(ending.outcome).toBe("complete");
  expect(JSON.stringify(messages[1])).toContain(SECRET);
  expect(JSON.stringify(messages[2])).not.toContain(SECRET);
  const [call, result] = messages[2]?.slice(-2) ?? [];
  const id = result?.tool_call_id as string;
  expect(id).toMatch(/^[a-zA-Z0-9]{9}$/);
  expect(call).toEqual({
    role: "assistant",
    content: null,
    tool_calls: [{ id, type: "function", function: { name: "find", arguments: "{}" } }],
  });
});

test("the visitor gets neither the thoughts nor the opaque fields", async () => {
  server.script([callingReply("id-1"), { tokens: ["Done."] }]);
  const { events } = await generate(["m"]);
  expect(events.filter((event) => typeof event === "string").join("")).toBe("Let me see. Done.");
  expect(JSON.stringify(events)).not.toContain(SECRET);
});
