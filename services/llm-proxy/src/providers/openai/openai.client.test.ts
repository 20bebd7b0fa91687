import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { PromptSchema, Role } from "@parley/rpc/llm";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import type { OpenAiSettings } from "../../settings/settings.ts";
import type { Provider, ProviderCall } from "../provider.ts";
import { openAiProvider } from "./openai.client.ts";

let answer: (response: ServerResponse) => void;
const closed = vi.fn();
const server = createServer((request, response) => {
  request.resume();
  response.on("close", () => {
    if (!response.writableFinished) closed();
  });
  request.on("end", () => answer(response));
});
let provider: Provider;
beforeAll(async () => {
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
});
beforeEach(() => {
  const settings = {
    name: "test",
    kind: "openai",
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    apiKey: undefined,
    headers: {},
    includeUsage: false,
    timeouts: { connectMs: 1_000, firstTokenMs: 60_000, silenceMs: 60_000, totalMs: 60_000 },
  };
  provider = openAiProvider(settings as unknown as OpenAiSettings);
});
afterEach(async () => {
  await provider.close();
  closed.mockReset();
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const event = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const prompt = create(PromptSchema, { messages: [{ role: Role.USER, content: "Hello?" }] });

function call(signal: AbortSignal, more: Partial<ProviderCall> = {}): ProviderCall {
  const onFinished = vi.fn();
  return {
    model: "m",
    prompt,
    tools: [],
    mustAnswer: false,
    rounds: [],
    signal,
    onText: () => undefined,
    onProgress: () => undefined,
    onUsage: () => undefined,
    onFinished,
    ...more,
  };
}

const ask = (signal: AbortSignal) => provider.stream(call(signal));
const embed = (signal: AbortSignal) => provider.embed?.({ model: "m", dimensions: undefined, texts: ["a"], signal });

test.each([
  ["a refusal", 500, "text/plain", ask],
  ["a redirect", 302, "text/html", ask],
  ["an event stream", 200, "text/event-stream", ask],
  ["vectors", 200, "application/json", embed],
])(
  "%s: a body that stops in the middle ends with the signal, and its connection with it",
  async (_, status, type, begin) => {
    answer = (response) => {
      response.writeHead(status, { "content-type": type, "content-length": "1000" });
      response.write("data: ");
    };
    const controller = new AbortController();
    const failed = expect(begin(controller.signal)).rejects.toThrow();
    await sleep(50);
    controller.abort(new Error("too late"));
    await failed;
    await vi.waitFor(() => expect(closed).toHaveBeenCalled());
  },
);

test("a call that ends while its reader is slow has not finished, though the rest had come", async () => {
  const rest = Promise.withResolvers<void>();
  answer = (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(event({ content: "beginning" }));
    void rest.promise.then(() => response.end(`${event({ content: "end" })}${event({}, "stop")}data: [DONE]\n\n`));
  };
  const controller = new AbortController();
  const room = Promise.withResolvers<void>();
  const texts: string[] = [];
  const asked = call(controller.signal, {
    onText: (text) => {
      texts.push(text);
      rest.resolve();
      return room.promise;
    },
  });
  const streaming = provider.stream(asked);
  const failed = expect(streaming).rejects.toThrow();
  await rest.promise;
  await sleep(50);
  controller.abort(new Error("too late"));
  room.resolve();
  await failed;
  expect(texts).toEqual(["beginning"]);
  expect(asked.onFinished).not.toHaveBeenCalled();
});

test("a reader who is slow gets the rest that has come meanwhile", async () => {
  answer = (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(event({ content: "beginning " }));
    setTimeout(() => response.end(`${event({ content: "end" })}${event({}, "stop")}data: [DONE]\n\n`), 10);
  };
  let text = "";
  const asked = call(new AbortController().signal, {
    onText: (piece) => {
      text += piece;
      return sleep(50);
    },
  });
  await provider.stream(asked);
  expect(text).toBe("beginning end");
  expect(asked.onFinished).toHaveBeenCalledWith([], "stop");
});
