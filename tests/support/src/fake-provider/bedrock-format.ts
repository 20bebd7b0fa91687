import { EventStreamCodec } from "@smithy/eventstream-codec";
import type { ChatRequest } from "./chat-request.ts";
import type { StreamFormat } from "./format.ts";
import { fixedUsage, type Reply } from "./reply.ts";

const STOP_REASONS = {
  stop: "end_turn",
  length: "max_tokens",
  content_filter: "content_filtered",
  tool_calls: "tool_use",
};

const decoder = new TextDecoder();
const codec = new EventStreamCodec(
  (bytes) => (typeof bytes === "string" ? bytes : decoder.decode(bytes)),
  (text) => new Uint8Array(Buffer.from(text)),
);

/** An event as text; `encode` returns its bytes. */
const event = (type: string, payload: object) => JSON.stringify({ type, payload });

/** Bedrock's ConverseStream: blocks in frames of AWS's binary format of events. The counts follow the stop reason. */
export function createBedrockFormat(
  _: ChatRequest,
  { usage: replyUsage, cachedTokens = 0, hasDone = true }: Reply,
): StreamFormat {
  const usage = replyUsage === undefined ? fixedUsage : replyUsage;
  let blocks = 0;
  let isTextOpen = false;
  const delta = (fields: object) => event("contentBlockDelta", { contentBlockIndex: blocks - 1, delta: fields });
  const stop = () => event("contentBlockStop", { contentBlockIndex: blocks - 1 });
  const closeText = () => {
    const wasOpen = isTextOpen;
    isTextOpen = false;
    return wasOpen ? [stop()] : [];
  };
  return {
    begin: [event("messageStart", { role: "assistant" })],
    thoughts({ text, signature }) {
      blocks++;
      return [delta({ reasoningContent: { text } }), delta({ reasoningContent: { signature } }), stop()];
    },
    text(content) {
      if (!isTextOpen) blocks++;
      isTextOpen = true;
      return [delta({ text: content })];
    },
    toolCalls: (calls) => [
      ...closeText(),
      ...calls.flatMap(({ id, name, arguments: json }, index) => {
        const middle = Math.ceil(json.length / 2);
        const toolUse = { toolUseId: id ?? `tooluse_${index}`, name };
        return [
          event("contentBlockStart", { contentBlockIndex: blocks++, start: { toolUse } }),
          ...[json.slice(0, middle), json.slice(middle)].map((input) => delta({ toolUse: { input } })),
          stop(),
        ];
      }),
    ],
    error: [event("serviceUnavailableException", { message: "The service is unavailable" })],
    finish: (reason) => [...closeText(), event("messageStop", { stopReason: STOP_REASONS[reason] })],
    end: () =>
      usage === null || !hasDone
        ? []
        : [
            event("metadata", {
              usage: {
                inputTokens: usage.prompt_tokens - cachedTokens,
                outputTokens: usage.completion_tokens,
                totalTokens: usage.prompt_tokens + usage.completion_tokens,
                ...(cachedTokens > 0 && { cacheReadInputTokens: cachedTokens, cacheWriteInputTokens: 0 }),
              },
              metrics: { latencyMs: 1 },
            }),
          ],
    comment: event("contentBlockDelta", { contentBlockIndex: 0, delta: { text: "" } }),
    contentType: "application/vnd.amazon.eventstream",
    encode: encodeFrame,
  };
}

function encodeFrame(text: string): Buffer {
  const { type, payload } = JSON.parse(text) as { type: string; payload: object };
  const isException = type.endsWith("Exception");
  const header = (value: string) => ({ type: "string" as const, value });
  const bytes = codec.encode({
    headers: {
      [isException ? ":exception-type" : ":event-type"]: header(type),
      ":content-type": header("application/json"),
      ":message-type": header(isException ? "exception" : "event"),
    },
    // Bedrock pads its events.
    body: new Uint8Array(Buffer.from(JSON.stringify({ ...payload, p: "abcdefgh" }))),
  });
  return Buffer.from(bytes);
}
