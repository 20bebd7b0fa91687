import type { ChatRequest } from "./chat-request.ts";
import { eventOf, type StreamFormat } from "./format.ts";
import { fixedUsage, type Reply } from "./reply.ts";

const FINISH_REASONS = { stop: "STOP", length: "MAX_TOKENS", content_filter: "SAFETY", tool_calls: "STOP" };

/** Gemini's streamGenerateContent with alt=sse: each event has whole parts; the last one has the finish reason and the counts. */
export function createGoogleFormat(chat: ChatRequest, { usage, thoughts, cachedTokens = 0 }: Reply): StreamFormat {
  const counts = usage === undefined ? fixedUsage : usage;
  const chunk = (parts: object[], fields: object = {}) =>
    eventOf({
      candidates: [{ content: { role: "model", parts }, index: 0, ...fields }],
      modelVersion: chat.model,
      responseId: chat.id,
    });
  const usageMetadata = counts && {
    promptTokenCount: counts.prompt_tokens,
    candidatesTokenCount: counts.completion_tokens,
    totalTokenCount: counts.prompt_tokens + counts.completion_tokens,
    ...(cachedTokens > 0 && { cachedContentTokenCount: cachedTokens }),
  };
  return {
    begin: [],
    thoughts: ({ text }) => [chunk([{ text, thought: true }])],
    text: (content) => [chunk([{ text: content }])],
    // The signature of the thoughts comes with the first call.
    toolCalls: (calls) => [
      chunk(
        calls.map(({ name, arguments: json }, index) => ({
          functionCall: { name, args: JSON.parse(json) },
          ...(index === 0 && thoughts && { thoughtSignature: thoughts.signature }),
        })),
      ),
    ],
    error: [eventOf({ error: { code: 503, message: "The model is overloaded", status: "UNAVAILABLE" } })],
    finish: (reason) => [
      eventOf({
        candidates: [
          { content: { role: "model", parts: [{ text: "" }] }, finishReason: FINISH_REASONS[reason], index: 0 },
        ],
        ...(usageMetadata && { usageMetadata }),
        modelVersion: chat.model,
        responseId: chat.id,
      }),
    ],
    end: () => [],
    comment: ": still working",
  };
}
