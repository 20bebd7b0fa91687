import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { nodeFlags, startProcess } from "../process.ts";
import { defaultTokens, fixedUsage } from "./reply.ts";
import { type FakeProvider, startFakeProvider } from "./server.ts";

interface Chunk {
  choices?: Array<{ delta: { content?: string }; finish_reason: string | null }>;
  usage?: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
  error?: { message: string };
}

let provider: FakeProvider;
beforeEach(async () => {
  provider = await startFakeProvider();
});
afterEach(async () => {
  await provider.close();
});

function post(model: string, options: { stream?: boolean; prompt?: string; signal?: AbortSignal; url?: string } = {}) {
  const { stream = true, prompt = "Hi there", signal = null, url = provider.url } = options;
  return fetch(`${url}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer key" },
    body: JSON.stringify({
      model,
      messages: [{ role: "user", content: prompt }],
      ...(stream && { stream, stream_options: { include_usage: true } }),
    }),
    signal,
  });
}

function postEmbeddings(body: object, signal: AbortSignal | null = null) {
  return fetch(`${provider.url}/embeddings`, { method: "POST", body: JSON.stringify(body), signal });
}

/** Reads a stream to its end. */
async function read(response: Response) {
  let text = "";
  let isBroken = false;
  try {
    for await (const part of response.body?.pipeThrough(new TextDecoderStream()) ?? []) text += part;
  } catch {
    isBroken = true;
  }
  const data = text.split(/\r?\n/).flatMap((line) => (line.startsWith("data: ") ? [line.slice(6)] : []));
  const chunks = data.filter((line) => line !== "[DONE]").map((line) => JSON.parse(line) as Chunk);
  const choices = chunks.flatMap((chunk) => chunk.choices ?? []);
  return {
    text,
    isBroken,
    isDone: data.at(-1) === "[DONE]",
    tokens: choices.map((choice) => choice.delta.content).filter(Boolean),
    finish: choices.map((choice) => choice.finish_reason).filter(Boolean),
    usage: chunks.find((chunk) => chunk.usage)?.usage,
    error: chunks.find((chunk) => chunk.error)?.error,
  };
}

describe("the default reply", () => {
  it("is streamed token by token with finish reason, usage and [DONE]", async () => {
    const response = await post("any");
    expect(response.headers.get("content-type")).toContain("text/event-stream");
    expect(await read(response)).toMatchObject({
      tokens: defaultTokens,
      finish: ["stop"],
      usage: { ...fixedUsage, total_tokens: 55 },
      isDone: true,
      isBroken: false,
    });
  });

  it("is one JSON object when the request does not ask for a stream", async () => {
    const completion: unknown = await (await post("any", { stream: false })).json();
    expect(completion).toMatchObject({
      object: "chat.completion",
      choices: [{ message: { role: "assistant", content: defaultTokens.join("") }, finish_reason: "stop" }],
      usage: fixedUsage,
    });
  });
});

it("a request is recorded with its headers, its body and the number of tokens sent", async () => {
  await read(await post("any"));
  expect(provider.requests).toHaveLength(1);
  expect(provider.requests[0]).toMatchObject({
    headers: { authorization: "Bearer key" },
    body: { model: "any", stream: true },
    tokensSent: defaultTokens.length,
    endedAt: expect.any(Number),
  });
  expect(provider.closedByClient()).toEqual([]);
});

describe("the model name", () => {
  it.each([
    ["echo", "repeats the prompt", { tokens: ["Hi", " there"] }],
    ["no-finish", "sends no finish reason and no [DONE]", { finish: [], isDone: false, isBroken: false }],
    ["no-done", "sends no [DONE]", { finish: ["stop"], isDone: false, isBroken: false }],
    ["no-usage", "sends no usage", { usage: undefined, isDone: true }],
    ["length", "sends the finish reason length", { finish: ["length"], isDone: true }],
    ["empty", "sends no token", { tokens: [], finish: ["stop"], isDone: true }],
    [
      "cut-after-3",
      "breaks the connection after 3 tokens",
      { tokens: defaultTokens.slice(0, 3), isBroken: true, isDone: false },
    ],
    [
      "end-after-2",
      "ends the stream after 2 tokens",
      { tokens: defaultTokens.slice(0, 2), isBroken: false, finish: [], isDone: false },
    ],
    [
      "error-chunk",
      "sends an error after 3 tokens",
      { tokens: defaultTokens.slice(0, 3), error: { message: "The server had an error" }, isDone: false },
    ],
    [
      "split-utf8",
      "sends characters of several bytes",
      { tokens: ["Grüße", " 👋🏽", " 日本語", " \u{1F468}\u200D\u{1F469}"], isDone: true },
    ],
    ["crlf", "ends lines with CRLF", { text: expect.stringContaining("[DONE]\r\n\r\n"), tokens: defaultTokens }],
    ["comments", "sends comments", { text: expect.stringContaining(": still working\n\n"), tokens: defaultTokens }],
  ])("%s %s", async (model, _, expected) => {
    expect(await read(await post(model))).toMatchObject(expected);
  });

  it.each([401, 429, 500])("status-%i returns that status and an error", async (status) => {
    const response = await post(`status-${status}`);
    expect(response.status).toBe(status);
    expect(response.headers.get("retry-after")).toBe(status === 429 ? "1" : null);
    expect(await response.json()).toMatchObject({ error: { message: `Scripted status ${status}` } });
  });

  it("status-503-retry-7 sends Retry-After: 7", async () => {
    expect((await post("status-503-retry-7")).headers.get("retry-after")).toBe("7");
  });

  it("html returns 200 with a page", async () => {
    const response = await post("html");
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/html"]);
    expect(await response.text()).toContain("<!doctype html>");
  });

  it("big-token sends one token of 256 KiB", async () => {
    expect((await read(await post("big-token"))).tokens.map((token) => token?.length)).toEqual([262_144]);
  });

  it("tokens-N-every-M sends a token every M ms", async () => {
    const startedAt = performance.now();
    const { tokens } = await read(await post("tokens-4-every-30"));
    expect(tokens).toEqual(["t0 ", "t1 ", "t2 ", "t3 "]);
    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(115);
  });

  it("tokens-100 sends 100 tokens", async () => {
    expect((await read(await post("tokens-100"))).tokens).toHaveLength(100);
  });
});

describe("a closed connection", () => {
  it.each([
    ["before the response", "hang"],
    ["while the stream is stalled", "stall-after-3"],
    ["between tokens", "slow-20"],
  ])("is recorded as closed by the client if the client disconnects %s", async (_, model) => {
    const abort = new AbortController();
    const reading = post(model, { signal: abort.signal }).then(read);
    reading.catch(() => undefined);
    await expect.poll(() => provider.requests[0]?.model).toBe(model);
    if (model !== "hang") await expect.poll(() => provider.requests[0]?.tokensSent).toBeGreaterThanOrEqual(3);
    abort.abort();
    await expect.poll(() => provider.closedByClient()).toHaveLength(1);
    expect(provider.requests[0]?.endedAt).toBeUndefined();
  });

  it("is not recorded as closed by the client if the fake provider closes it", async () => {
    await read(await post("cut-after-3"));
    expect(provider.requests[0]?.endedAt).toEqual(expect.any(Number));
    expect(provider.closedByClient()).toEqual([]);
  });
});

describe("a script", () => {
  it("sends its replies in order; later requests get the reply of their model name", async () => {
    provider.script([{ status: 500 }, { tokens: ["second"] }]);
    expect((await post("echo")).status).toBe(500);
    expect((await read(await post("echo"))).tokens).toEqual(["second"]);
    expect((await read(await post("echo"))).tokens).toEqual(["Hi", " there"]);
  });

  it("can choose the reply by the request", async () => {
    provider.script(({ model }, index) => (model === "mine" ? { tokens: [`number ${index}`] } : undefined));
    expect((await read(await post("other"))).tokens).toEqual(defaultTokens);
    expect((await read(await post("mine"))).tokens).toEqual(["number 1"]);
  });
});

describe("a JSON reply", () => {
  const requests: [name: string, send: (signal?: AbortSignal) => Promise<Response>][] = [
    ["a completion", (signal) => post("any", { stream: false, ...(signal && { signal }) })],
    ["embeddings", (signal) => postEmbeddings({ model: "small", input: ["a"] }, signal)],
  ];

  it.each(requests)("is sent with the headers of its script: %s", async (_, send) => {
    provider.script([{ headers: { "x-request-id": "7" } }]);
    const response = await send();
    expect([response.status, response.headers.get("x-request-id")]).toEqual([200, "7"]);
    expect(await response.json()).toMatchObject({ object: expect.any(String) });
  });

  it.each(requests)("with the fault `error` has status 500: %s", async (_, send) => {
    provider.script([{ fault: "error" }]);
    expect((await send()).status).toBe(500);
  });

  it.each(requests)("with the fault `end` has no body: %s", async (_, send) => {
    provider.script([{ fault: "end" }]);
    const response = await send();
    expect([response.status, await response.text()]).toEqual([200, ""]);
  });

  it.each(requests)("with the fault `cut` closes the connection: %s", async (_, send) => {
    provider.script([{ fault: "cut" }]);
    await expect(send()).rejects.toThrow("fetch failed");
    expect(provider.requests[0]?.endedAt).toEqual(expect.any(Number));
  });

  it.each(requests)("with the fault `stall` ends only when the client disconnects: %s", async (_, send) => {
    provider.script([{ fault: "stall" }]);
    await expect(send(AbortSignal.timeout(300))).rejects.toThrow("timeout");
    await expect.poll(() => provider.closedByClient()).toHaveLength(1);
  });
});

describe("embeddings", () => {
  const embed = async (input: string[], dimensions?: number) => {
    const response = await postEmbeddings({ model: "small", input, dimensions });
    const { data } = (await response.json()) as { data: { index: number; embedding: number[] }[] };
    return data.map(({ embedding }) => embedding);
  };
  const dotProduct = (one: number[] = [], other: number[] = []) =>
    one.reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);

  it("are deterministic, and similar for texts that share words, stems or synonyms", async () => {
    const [dog, sleepingHound, hound, ships, again] = await embed([
      "The dog sleeps in the garden",
      "In the garden a hound is sleeping",
      "A hound",
      "Freighters crossing oceans",
      "The dog sleeps in the garden",
    ]);
    expect(again).toEqual(dog);
    expect(dotProduct(dog, dog)).toBeCloseTo(1);
    expect(dotProduct(dog, sleepingHound)).toBeGreaterThan(0.5);
    expect(dotProduct(dog, hound)).toBeGreaterThan(0.3);
    expect(Math.abs(dotProduct(dog, ships))).toBeLessThan(0.2);
  });

  it("have the requested length", async () => {
    expect((await embed(["a", "b"], 32)).map(({ length }) => length)).toEqual([32, 32]);
    expect((await embed(["a"]))[0]).toHaveLength(256);
  });
});

it("GET /v1/models lists models", async () => {
  expect(await (await fetch(`${provider.url}/models`)).json()).toMatchObject({ object: "list" });
});

it("the URL has the host on which the fake provider listens", async () => {
  const local = await startFakeProvider([], { host: "localhost" });
  onTestFinished(local.close);
  expect(local.url).toBe(`http://localhost:${local.port}/v1`);
  expect((await fetch(`${local.url}/models`)).status).toBe(200);
});

it("the fake provider runs as a process, and takes scripts from its environment and over HTTP", async () => {
  const child = await startProcess({
    name: "fake-provider",
    command: process.execPath,
    args: [...nodeFlags, fileURLToPath(new URL("main.ts", import.meta.url))],
    env: { FAKE_PROVIDER_SCRIPT: JSON.stringify([{ tokens: ["first"] }]) },
    ready: /^\{.*\}$/m,
  });
  const { url } = JSON.parse((await child.waitReady())?.[0] ?? "") as { url: string };
  expect((await read(await post("any", { url }))).tokens).toEqual(["first"]);
  await fetch(new URL("/script", url), { method: "PUT", body: JSON.stringify([{ tokens: ["later"] }]) });
  expect((await read(await post("any", { url }))).tokens).toEqual(["later"]);
  expect(await (await fetch(new URL("/requests", url))).json()).toMatchObject([{ model: "any" }, { model: "any" }]);
  expect(await child.stop()).toEqual({ code: 0, signal: null });
});
