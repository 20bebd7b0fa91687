import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { PromptSchema, Role } from "@parley/rpc/llm";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { OpenAiSettings } from "../../settings/settings.ts";
import type { CompletionRequest, Provider } from "../provider.ts";
import { createOpenAiProvider } from "./openai.client.ts";

type Received = { method: string; url: string; headers: IncomingHttpHeaders; body: string };

let received: Received[];
let respond: (response: ServerResponse) => void;
/** Called for each response whose connection was closed before its end. */
const closedEarly = vi.fn();
let connections: number;
const server = createServer(async (request, response) => {
  response.on("close", () => {
    if (!response.writableFinished) closedEarly();
  });
  const { method = "", url = "", headers } = request;
  let body = "";
  for await (const piece of request.setEncoding("utf8")) body += piece;
  received.push({ method, url, headers, body });
  respond(response);
});
server.on("connection", () => connections++);
let provider: Provider;
let baseUrl: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/of/a/path`;
});
beforeEach(() => {
  received = [];
  connections = 0;
  provider = createOpenAiProvider(settings());
});
afterEach(async () => {
  await provider.close();
  closedEarly.mockReset();
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

function settings(overrides: Partial<OpenAiSettings> = {}): OpenAiSettings {
  const required = {
    name: "test",
    kind: "openai",
    baseUrl,
    apiKey: undefined,
    headers: {},
    sampling: {},
    includeUsage: false,
    timeouts: { connectMs: 10_000, firstTokenMs: 60_000, silenceMs: 60_000, totalMs: 60_000 },
  };
  return { ...required, ...overrides } as OpenAiSettings;
}

const event = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const text = (content: string) => event({ content });
const END = `${event({}, "stop")}data: [DONE]\n\n`;
const prompt = create(PromptSchema, { messages: [{ role: Role.USER, content: "„Grüße“ 👋" }] });

function sendEvents(...events: string[]): void {
  respond = (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const each of events) response.write(each);
    response.end();
  };
}

function createRequest(overrides: Partial<CompletionRequest> = {}) {
  return {
    model: "m",
    prompt,
    tools: [],
    mustAnswerWithoutTools: false,
    toolRounds: [],
    sampling: {},
    signal: new AbortController().signal,
    onText: () => undefined,
    onSignOfLife: () => undefined,
    onThoughts: () => undefined,
    onUsage: () => undefined,
    onFinished: vi.fn(),
    onTextComplete: vi.fn(),
    ...overrides,
  };
}

const stream = (signal = new AbortController().signal) => provider.stream(createRequest({ signal }));
const embed = (signal = new AbortController().signal) =>
  provider.embed?.({ model: "m", dimensions: undefined, texts: ["a"], signal });

const waitForEarlyClose = () => vi.waitFor(() => expect(closedEarly).toHaveBeenCalled(), 10_000);

/** Streams a completion. Returns the text of each call of `onText`. */
async function readTexts(onText: CompletionRequest["onText"] = () => undefined): Promise<string[]> {
  const texts: string[] = [];
  const record: CompletionRequest["onText"] = (piece) => {
    texts.push(piece);
    return onText(piece);
  };
  await provider.stream(createRequest({ onText: record }));
  return texts;
}

describe("a request", () => {
  beforeEach(() => sendEvents(text("Hello"), END));

  test("is posted as JSON below the base URL, with the key", async () => {
    provider = createOpenAiProvider(settings({ apiKey: "a-key" }));
    await stream();
    const [{ method, url, headers, body } = {} as Received] = received;
    expect([method, url]).toEqual(["POST", "/of/a/path/chat/completions"]);
    expect(headers).toMatchObject({
      "content-type": "application/json",
      authorization: "Bearer a-key",
      "accept-encoding": "identity",
    });
    expect(JSON.parse(body)).toEqual({ model: "m", messages: [{ role: "user", content: "„Grüße“ 👋" }], stream: true });
  });

  test.each(["max_tokens", "max_completion_tokens"] as const)("has the output limit as %s", async (parameter) => {
    provider = createOpenAiProvider(settings({ maxTokensParameter: parameter }));
    await provider.stream(createRequest({ sampling: { maxOutputTokens: 700 } }));
    const { max_tokens, max_completion_tokens } = JSON.parse(received[0]?.body ?? "");
    expect({ max_tokens, max_completion_tokens }).toEqual({
      max_tokens: undefined,
      max_completion_tokens: undefined,
      [parameter]: 700,
    });
  });

  test("has no authorization without a key, and no organization or project from the environment", async () => {
    const names = ["OPENAI_ORG_ID", "OPENAI_PROJECT_ID"];
    for (const name of names) vi.stubEnv(name, "of-the-environment");
    provider = createOpenAiProvider(settings());
    vi.unstubAllEnvs();
    await stream();
    expect(received.map(({ headers }) => "authorization" in headers)).toEqual([false]);
    expect(JSON.stringify(received)).not.toContain("of-the-environment");
  });

  test("has the configured headers instead of the SDK's", async () => {
    provider = createOpenAiProvider(settings({ headers: { "X-Own": "1", "User-Agent": "other" } }));
    await stream();
    expect(received[0]?.headers).toMatchObject({ "x-own": "1", "user-agent": "other" });
  });

  test("fails as unreachable, with the error's name as detail, if it cannot be built", async () => {
    provider = createOpenAiProvider(settings({ headers: { "x-own": "„“" } }));
    await expect(stream()).rejects.toMatchObject({ code: "provider_error", reason: "connect", detail: "TypeError" });
  });

  test("is not sent if its signal is already aborted", async () => {
    await expect(stream(AbortSignal.abort(new Error("cancelled")))).rejects.toMatchObject({ reason: "connect" });
    expect(received).toEqual([]);
  });

  test("is aborted by its signal before the response", async () => {
    const controller = new AbortController();
    respond = () => controller.abort(new Error("cancelled"));
    await expect(stream(controller.signal)).rejects.toMatchObject({ reason: "connect" });
    await waitForEarlyClose();
  });

  test("fails as unreachable, with Node's code as detail, if the port is closed", async () => {
    const other = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => other.once("listening", resolve));
    const { port } = other.address() as AddressInfo;
    await new Promise((resolve) => other.close(resolve));
    provider = createOpenAiProvider(settings({ baseUrl: `http://127.0.0.1:${port}/v1` }));
    const failure = {
      code: "provider_error",
      reason: "connect",
      detail: "ECONNREFUSED",
      isRetryable: true,
      isProviderFault: true,
    };
    await expect(stream()).rejects.toMatchObject(failure);
  });
});

describe("a refusal", () => {
  test("has the provider's error code as detail, and the waiting time from the Retry-After header", async () => {
    respond = (response) => {
      response.writeHead(429, { "content-type": "application/json", "retry-after": "7" });
      response.end(JSON.stringify({ error: { code: "insufficient_quota", message: "pay for key a-key" } }));
    };
    await expect(stream()).rejects.toMatchObject({
      code: "provider_rate_limited",
      reason: "http_429",
      detail: "insufficient_quota",
      retryAfterMs: 7_000,
      isRetryable: false,
    });
    expect(received).toHaveLength(1);
  });

  test.each([
    ["not JSON", "<html>no</html>"],
    ["JSON without an error", "[1]"],
    ["null", "null"],
    ["an error that is a string", '{"error":"no"}'],
    ["empty", ""],
  ])("whose body is %s is mapped by its status", async (_, body) => {
    respond = (response) => {
      response.statusCode = 503;
      response.end(body);
    };
    const failure = { code: "provider_error", reason: "http_503", isRetryable: true, isProviderFault: true };
    await expect(stream()).rejects.toMatchObject(failure);
  });

  test.each([304, 307])("can also have status %i, and then its Location is not followed", async (status) => {
    respond = (response) => {
      response.writeHead(status, { location: `${baseUrl}/elsewhere` });
      response.end();
    };
    await expect(stream()).rejects.toMatchObject({ reason: `http_${status}` });
    expect(received).toHaveLength(1);
  });

  test("is mapped by its status, and its connection is closed, if its body is long and does not end", async () => {
    respond = (response) => {
      response.statusCode = 500;
      response.write("x".repeat(1024 * 1024));
    };
    await expect(stream()).rejects.toMatchObject({ reason: "http_500" });
    await waitForEarlyClose();
  });

  test("is mapped by its status if it is cut off", async () => {
    respond = (response) => {
      response.statusCode = 502;
      response.write("x");
      setTimeout(() => response.destroy(), 20);
    };
    await expect(stream()).rejects.toMatchObject({ reason: "http_502" });
  });
});

describe("a stream", () => {
  test("arrives completely, and texts that arrive while the sink is busy are joined", async () => {
    const contents = Array.from({ length: 50 }, (_, index) => `${index} `);
    sendEvents(...contents.map(text), END);
    const texts = await readTexts(() => sleep(20));
    expect(texts.join("")).toBe(contents.join(""));
    expect(texts.length).toBeLessThan(10);
  });

  test("passes on each text when it arrives", async () => {
    const { promise, resolve } = Promise.withResolvers<ServerResponse>();
    respond = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(text("one"));
      resolve(response);
    };
    const onText = vi.fn();
    const streaming = readTexts(onText);
    const response = await promise;
    await vi.waitFor(() => expect(onText.mock.calls).toEqual([["one"]]), 10_000);
    response.write(text("two"));
    await vi.waitFor(() => expect(onText.mock.calls).toEqual([["one"], ["two"]]), 10_000);
    response.end(END);
    expect(await streaming).toEqual(["one", "two"]);
  });

  test("applies the sink's backpressure and is complete", async () => {
    const contents = "x".repeat(65_536);
    const count = 1_024;
    let sent = 0;
    respond = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const write = () => {
        while (sent < count) {
          sent++;
          if (!response.write(text(contents))) return void response.once("drain", write);
        }
        response.end(END);
      };
      write();
    };
    const room = Promise.withResolvers<void>();
    let length = 0;
    const streaming = provider.stream(
      createRequest({
        onText: (piece) => {
          length += piece.length;
          return room.promise;
        },
      }),
    );
    await vi.waitFor(() => expect(length).toBeGreaterThan(0), 10_000);
    await sleep(300);
    expect(sent).toBeLessThan(count / 2);
    room.resolve();
    await streaming;
    expect(length).toBe(count * contents.length);
  });

  test("passes on its text and then fails as truncated if it is cut off", async () => {
    respond = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(text("some"));
      setTimeout(() => response.destroy(), 20);
    };
    const texts: string[] = [];
    const request = createRequest({ onText: (piece) => void texts.push(piece) });
    const failure = { code: "provider_error", reason: "truncated", isRetryable: true, isProviderFault: true };
    await expect(provider.stream(request)).rejects.toMatchObject(failure);
    expect(texts).toEqual(["some"]);
  });

  test("fails as truncated if it is cut off, even if each received chunk had a finish reason", async () => {
    respond = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(event({ role: "assistant", content: "" }, "stop") + event({ content: "some" }, "stop"));
      setTimeout(() => response.destroy(), 20);
    };
    const request = createRequest();
    await expect(provider.stream(request)).rejects.toMatchObject({ reason: "truncated" });
    expect(request.onFinished).not.toHaveBeenCalled();
  });

  test("does not finish if the sink refuses the text that arrives with the finish reason", async () => {
    sendEvents(text("some") + END);
    const request = createRequest({
      onText: () => {
        throw new Error("refused");
      },
    });
    await expect(provider.stream(request)).rejects.toThrow("refused");
    expect(request.onFinished).not.toHaveBeenCalled();
  });

  test("finishes before the sink has room for the last text", async () => {
    sendEvents(text("some") + END);
    const room = Promise.withResolvers<void>();
    const request = createRequest({ onText: () => room.promise });
    const streaming = provider.stream(request);
    await expect.poll(() => vi.mocked(request.onFinished).mock.calls.length).toBeGreaterThan(0);
    room.resolve();
    await streaming;
  });

  test.each([
    ["a comment", ": keep-alive\n\n"],
    ["a blank line", "\n"],
    ["an empty data line", "data:\n\n"],
    ["a role", event({ role: "assistant", content: "" })],
    ["reasoning", event({ reasoning_content: "Hm" })],
    ["token counts", 'data: {"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}\n\n'],
    ["a part of a tool call", event({ tool_calls: [{ index: 0, function: { name: "f", arguments: "" } }] })],
  ])("reports %s as a sign of life", async (_, sign) => {
    const signs: Promise<void>[] = [];
    const { promise: isAlive, resolve: onSignOfLife } = Promise.withResolvers<void>();
    respond = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(sign);
      signs.push(isAlive.then(() => void response.end(text("Hello") + END)));
    };
    const onText = vi.fn();
    await provider.stream(createRequest({ onSignOfLife, onText }));
    expect(onText).toHaveBeenCalledExactlyOnceWith("Hello");
    await Promise.all(signs);
  });

  test("is read after an informational response", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    respond = (response) => {
      response.writeEarlyHints({ link: "</x>; rel=preload" }, resolve);
      void promise.then(() => response.writeHead(200, { "content-type": "text/event-stream" }).end(text("this") + END));
    };
    expect(await readTexts()).toEqual(["this"]);
  });

  test("passes on the text that the provider sends while the sink is busy", async () => {
    respond = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(text("beginning "));
      setTimeout(() => response.end(text("end") + END), 10);
    };
    const request = createRequest({ onText: () => sleep(50) });
    await provider.stream(request);
    expect(request.onFinished).toHaveBeenCalledWith(
      expect.objectContaining({ stopCause: "stop", finishReason: "stop", toolRequests: [] }),
    );
    expect((await readTexts(() => sleep(50))).join("")).toBe("beginning end");
  });
});

describe("an aborted signal", () => {
  test.each([
    ["a refusal", 500, "text/plain", stream],
    ["a redirect", 302, "text/html", stream],
    ["an event stream", 200, "text/event-stream", stream],
    ["an embedding response", 200, "application/json", embed],
  ])("ends %s whose body stalls, and closes its connection", async (_, status, type, start) => {
    respond = (response) => {
      response.writeHead(status, { "content-type": type, "content-length": "1000" });
      response.write("data: ");
    };
    const controller = new AbortController();
    const failed = expect(start(controller.signal)).rejects.toThrow();
    await vi.waitFor(() => expect(received).toHaveLength(1), 10_000);
    await sleep(50);
    controller.abort(new Error("cancelled"));
    await failed;
    await waitForEarlyClose();
  });

  test("drops the buffered rest if the sink has no room", async () => {
    const rest = Promise.withResolvers<void>();
    respond = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(text("beginning"));
      void rest.promise.then(() => response.end(text("end") + END));
    };
    const controller = new AbortController();
    const room = Promise.withResolvers<void>();
    const texts: string[] = [];
    const request = createRequest({
      signal: controller.signal,
      onText: (piece) => {
        texts.push(piece);
        rest.resolve();
        return room.promise;
      },
    });
    const failed = expect(provider.stream(request)).rejects.toThrow();
    await rest.promise;
    await sleep(50);
    controller.abort(new Error("cancelled"));
    room.resolve();
    await failed;
    expect(texts).toEqual(["beginning"]);
    expect(request.onFinished).not.toHaveBeenCalled();
  });

  test("closes the connection while reading is paused", async () => {
    respond = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      const write = () => {
        while (response.write(text("x".repeat(65_536))));
        response.once("drain", write);
      };
      write();
    };
    const controller = new AbortController();
    const room = Promise.withResolvers<void>();
    const onText = vi.fn(() => room.promise);
    const failed = expect(provider.stream(createRequest({ signal: controller.signal, onText }))).rejects.toThrow();
    await vi.waitFor(() => expect(onText).toHaveBeenCalled(), 10_000);
    await sleep(50);
    controller.abort(new Error("cancelled"));
    await waitForEarlyClose();
    room.resolve();
    await failed;
  });
});

describe("after [DONE]", () => {
  test.each([
    ["a mebibyte follows", (response: ServerResponse) => response.end(`: ${"x".repeat(1024 * 1024)}\n\n`)],
    ["the response ends a little later", (response: ServerResponse) => setTimeout(() => response.end("\n"), 30)],
  ])("the connection serves the next request: %s", async (_, finish) => {
    respond = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(text("all") + END);
      finish(response);
    };
    for (let request = 0; request < 3; request++) {
      expect(await readTexts()).toEqual(["all"]);
      // Waits in steps: after a pause of this process, one timer could fire before the client has read the rest. Each step reads at most 64 KiB.
      for (let step = 0; step < 50; step++) await sleep(10);
    }
    expect(connections).toBe(1);
  });

  test("a response that has not ended within a second is closed", async () => {
    respond = (response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write(text("all") + END);
    };
    expect(await readTexts()).toEqual(["all"]);
    await waitForEarlyClose();
  });
});
