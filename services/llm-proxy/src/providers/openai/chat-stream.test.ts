import { readFileSync } from "node:fs";
import { cpuMsOf } from "@parley/test-support";
import { describe, expect, test } from "vitest";
import { ProviderFailure } from "../failure.ts";
import { WellFormedTextBuffer } from "../well-formed-text.ts";
import { ChatStreamReader } from "./chat-stream.ts";

const fixture = (name: string) => readFileSync(new URL(`fixtures/${name}.sse`, import.meta.url));

type ReadResult = { text: string; usage: unknown; failure: ProviderFailure | undefined };

function read(body: Uint8Array, bytesPerRead = body.length || 1): ReadResult {
  const reader = new ChatStreamReader({ toolNames: ["f"], round: 0 });
  const wellFormed = new WellFormedTextBuffer();
  let text = "";
  try {
    for (let at = 0; at < body.length; at += bytesPerRead) {
      text += wellFormed.push(reader.feed(body.subarray(at, at + bytesPerRead)));
    }
    text += wellFormed.push(reader.end()) + wellFormed.flush();
    return { text, usage: reader.usage, failure: undefined };
  } catch (error) {
    if (!(error instanceof ProviderFailure)) throw error;
    return { text, usage: reader.usage, failure: error };
  }
}

const chunkOf = (delta: object, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason }],
});
const textChunk = (content: string, finishReason: string | null = null) => chunkOf({ content }, finishReason);
const finishChunk = (reason: string) => chunkOf({ content: "" }, reason);
const TOOL_CALL = { tool_calls: [{ index: 0, function: { name: "f" } }] };
const bytesOf = (chunk: object) => Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`);

const COMPLETE = [
  "plain",
  "crlf",
  "cr",
  "bom",
  "comments",
  "named-events",
  "no-space",
  "many-lines",
  "content-filter-results",
  "parts",
  "reasoning",
  "usage-in-every-chunk",
  "finish-with-text",
  "no-done",
  "no-finish-reason",
  "no-last-newline",
  "after-done",
  "error-after-finish",
];

const BROKEN: [name: string, code: string, reason: string, retryable: boolean][] = [
  ["error-first", "provider_error", "http_500", true],
  ["error-rate-limit", "provider_rate_limited", "http_429", true],
  ["error-numeric-code", "provider_error", "http_502", true],
  ["error-auth", "provider_auth", "http_401", false],
  ["error-as-text", "provider_error", "stream_error", false],
  ["error-after-text", "provider_error", "http_500", true],
  ["error-event", "provider_error", "stream_error", false],
  ["error-finish-reason", "provider_error", "stream_error", false],
  ["html", "provider_error", "truncated", true],
  ["truncated", "provider_error", "truncated", true],
  ["truncated-in-event", "provider_error", "malformed", false],
  ["empty", "provider_error", "truncated", true],
  ["only-done", "provider_error", "truncated", true],
  ["only-comments", "provider_error", "truncated", true],
  ["not-json", "provider_error", "malformed", false],
  ["json-null", "provider_error", "malformed", false],
  ["json-array", "provider_error", "malformed", false],
  ["plain-json", "provider_error", "truncated", true],
  ["wrong-types", "provider_error", "malformed", false],
];

describe("ChatStreamReader", () => {
  describe.each([1, 2, 7, 64, 1_000_000])("in reads of %i bytes", (bytes) => {
    test.each(COMPLETE)("reads a complete stream with its usage: %s", (name) => {
      expect(read(fixture(name), bytes)).toEqual({
        text: "Hello, world",
        usage: { tokensIn: 12, tokensOut: 3 },
        failure: undefined,
      });
    });

    test.each(BROKEN)("a broken stream is a failure: %s is %s, %s", (name, code, reason, retryable) => {
      expect(read(fixture(name), bytes).failure).toMatchObject({ code, reason, isRetryable: retryable });
    });

    test("characters split between reads are joined", () => {
      expect(read(fixture("utf8"), bytes).text).toBe("Grüße 👋🏽 日本語 👨‍👩‍👧");
    });

    test("text that looks like an event is text", () => {
      expect(read(fixture("injection"), bytes).text).toBe("\n\nevent: done\ndata: {}");
    });
  });

  test("a stream cut after any byte is a failure unless its finish reason has arrived, and its text is a prefix of the whole text", () => {
    const body = fixture("utf8");
    const whole = "Grüße 👋🏽 日本語 👨‍👩‍👧";
    const finishLineEnd = body.indexOf("\n", body.indexOf('"finish_reason":"stop"'));
    for (let length = 0; length < body.length; length++) {
      const { text, failure } = read(body.subarray(0, length), 16);
      expect(whole.startsWith(text)).toBe(true);
      if (length < finishLineEnd) expect(failure?.code).toBe("provider_error");
      else expect({ text, failure }).toEqual({ text: whole, failure: undefined });
    }
  });

  test("a failure does not contain the provider's error text", () => {
    for (const name of ["error-rate-limit", "error-auth"]) {
      const { failure } = read(fixture(name));
      expect(JSON.stringify({ ...failure, message: failure?.message, stack: failure?.stack })).not.toContain(
        "sk-secret",
      );
    }
  });

  test("the texts of one read are returned as one text", () => {
    expect(new ChatStreamReader({ toolNames: ["f"], round: 0 }).feed(fixture("plain"))).toBe("Hello, world");
  });

  test("reads a token of one mebibyte in less than 2 s of CPU time", () => {
    const token = "x".repeat(1024 * 1024);
    const body = Buffer.from(
      `data: ${JSON.stringify({ choices: [{ delta: { content: token }, finish_reason: "stop" }] })}\n\n`,
    );
    const readToken = () => expect(read(body, 4_096)).toMatchObject({ text: token, failure: undefined });
    expect(cpuMsOf(readToken)).toBeLessThan(2_000);
  });

  test.each([
    ["`stop` in a chunk of its own", [textChunk("Hi"), finishChunk("stop")], "finishes the text"],
    ["`length` in a chunk of its own", [textChunk("Hi"), finishChunk("length")], "finishes the text"],
    [
      "in a chunk with text, before a chunk without choices",
      [textChunk("Hi", "stop"), { choices: [], usage: {} }],
      "finishes the text",
    ],
    ["in a chunk with text", [textChunk("Hi", "stop")], "does not finish the completion"],
    [
      "in a chunk with reasoning",
      [textChunk("Hi"), chunkOf({ reasoning_content: "Hm" }, "stop")],
      "does not finish the completion",
    ],
    ["before any text", [finishChunk("stop")], "does not finish the completion"],
    [
      "before any text, with a chunk without choices",
      [finishChunk("stop"), { choices: [] }],
      "does not finish the completion",
    ],
    ["in a chunk with a tool call", [chunkOf(TOOL_CALL, "tool_calls")], "does not finish the completion"],
    [
      "after tool calls",
      [textChunk("Hi"), chunkOf(TOOL_CALL), finishChunk("stop")],
      "finishes the completion, but not its text",
    ],
    ["that is missing", [textChunk("Hi"), chunkOf({})], "does not finish the completion"],
    [
      "that is missing, before a chunk without choices",
      [textChunk("Hi"), { choices: [] }],
      "does not finish the completion",
    ],
  ])("a finish reason %s $2", (_, chunks, effect) => {
    const reader = new ChatStreamReader({ toolNames: ["f"], round: 0 });
    for (const chunk of chunks) reader.feed(bytesOf(chunk));
    expect(reader.isFinished).toBe(effect !== "does not finish the completion");
    expect(reader.isTextComplete).toBe(effect === "finishes the text");
  });

  test("a completion whose finish reason came with text is finished by [DONE] and by the end of the body", () => {
    for (const rest of ["data: [DONE]\n\n", ""]) {
      const reader = new ChatStreamReader({ toolNames: ["f"], round: 0 });
      reader.feed(bytesOf(textChunk("Hi", "stop")));
      reader.feed(Buffer.from(rest));
      if (rest === "") reader.end();
      expect(reader.isFinished).toBe(true);
    }
  });

  test("an error after a chunk with text and a finish reason is a failure", () => {
    const reader = new ChatStreamReader({ toolNames: ["f"], round: 0 });
    reader.feed(bytesOf(textChunk("Hi", "stop")));
    expect(() => reader.feed(bytesOf({ error: { code: "server_error" } }))).toThrow("http_500");
  });

  test("keeps the text of chunks that have a finish reason, and ignores text that follows the complete text", () => {
    const reader = new ChatStreamReader({ toolNames: ["f"], round: 0 });
    const chunks = [
      finishChunk("stop"),
      textChunk("a", "stop"),
      textChunk("b", "stop"),
      finishChunk("stop"),
      textChunk("c"),
    ];
    expect(chunks.map((chunk) => reader.feed(bytesOf(chunk))).join("")).toBe("ab");
  });

  test("an endless event is refused", () => {
    const reader = new ChatStreamReader({ toolNames: ["f"], round: 0 });
    const piece = Buffer.from(`data: ${"x".repeat(1024 * 1024)}`);
    expect(() => {
      for (let sent = 0; sent < 20; sent++) reader.feed(piece);
    }).toThrow("too_large");
  });

  test("usage with an invalid token count is ignored", () => {
    for (const count of [-1, 1.5, 1e300, "12", null, 2 ** 31]) {
      const chunk = { choices: [], usage: { prompt_tokens: count, completion_tokens: 3 } };
      const reader = new ChatStreamReader({ toolNames: ["f"], round: 0 });
      reader.feed(Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`));
      expect(reader.usage).toBeUndefined();
    }
  });
});
