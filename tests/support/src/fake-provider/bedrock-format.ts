import { crc32 } from "node:zlib";
import type { ChatRequest } from "./chat-request.ts";
import type { StreamFormat } from "./format.ts";
import { fixedUsage, type Reply } from "./reply.ts";

const STOP_REASONS = {
  stop: "end_turn",
  length: "max_tokens",
  content_filter: "content_filtered",
  tool_calls: "tool_use",
};

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

/** Returns the frame of an event: lengths, their checksum, headers, payload and the checksum of all of it. */
function encodeFrame(text: string): Buffer {
  const { type, payload } = JSON.parse(text) as { type: string; payload: object };
  const isException = type.endsWith("Exception");
  const headers = Buffer.concat([
    encodeHeader(isException ? ":exception-type" : ":event-type", type),
    encodeHeader(":content-type", "application/json"),
    encodeHeader(":message-type", isException ? "exception" : "event"),
  ]);
  // Bedrock pads its events.
  const body = Buffer.from(JSON.stringify({ ...payload, p: "abcdefgh" }));
  const prelude = Buffer.concat([encodeUint32(headers.length + body.length + 16), encodeUint32(headers.length)]);
  const frame = Buffer.concat([prelude, encodeUint32(crc32(prelude)), headers, body]);
  return Buffer.concat([frame, encodeUint32(crc32(frame))]);
}

const TEXT_HEADER = 7;

function encodeHeader(name: string, value: string): Buffer {
  const length = Buffer.alloc(2);
  length.writeUInt16BE(value.length);
  return Buffer.concat([
    Buffer.from([name.length]),
    Buffer.from(name),
    Buffer.from([TEXT_HEADER]),
    length,
    Buffer.from(value),
  ]);
}

function encodeUint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}
