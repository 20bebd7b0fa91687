import type { ChatRequest } from "./chat-request.ts";
import { eventOf, type StreamFormat } from "./format.ts";
import { fixedUsage, type Reply } from "./reply.ts";

const STOP_REASONS = { stop: "end_turn", length: "max_tokens", content_filter: "refusal", tool_calls: "tool_use" };

/** Anthropic's Messages API: content blocks, each with a start, deltas and a stop. The counts of the prompt come first, the others at the end. */
export function createAnthropicFormat(
  chat: ChatRequest,
  { usage: replyUsage, cachedTokens = 0, hasDone = true }: Reply,
): StreamFormat {
  const event = (type: string, fields: object) => eventOf({ type, ...fields }, type);
  const prompt = (replyUsage ?? fixedUsage).prompt_tokens;
  const usage = {
    input_tokens: prompt - cachedTokens,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: cachedTokens,
  };
  const message = {
    id: chat.id,
    type: "message",
    role: "assistant",
    model: chat.model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { ...usage, output_tokens: 1 },
  };
  let blocks = 0;
  let isTextOpen = false;
  const delta = (fields: object) => event("content_block_delta", { index: blocks - 1, delta: fields });
  const stop = () => event("content_block_stop", { index: blocks - 1 });
  const start = (block: object) => event("content_block_start", { index: blocks++, content_block: block });
  const closeText = () => {
    const wasOpen = isTextOpen;
    isTextOpen = false;
    return wasOpen ? [stop()] : [];
  };
  let reason: string | undefined;
  return {
    begin: [event("message_start", { message }), event("ping", {})],
    thoughts: ({ text, signature }) => [
      start({ type: "thinking", thinking: "", signature: "" }),
      delta({ type: "thinking_delta", thinking: text }),
      delta({ type: "signature_delta", signature }),
      stop(),
    ],
    text(content) {
      const opening = isTextOpen ? [] : [start({ type: "text", text: "" })];
      isTextOpen = true;
      return [...opening, delta({ type: "text_delta", text: content })];
    },
    toolCalls: (calls) => [
      ...closeText(),
      ...calls.flatMap(({ id, name, arguments: json }, index) => {
        const middle = Math.ceil(json.length / 2);
        return [
          start({ type: "tool_use", id: id ?? `toolu_${index}`, name, input: {} }),
          ...[json.slice(0, middle), json.slice(middle)].map((part) =>
            delta({ type: "input_json_delta", partial_json: part }),
          ),
          stop(),
        ];
      }),
    ],
    error: [event("error", { error: { type: "overloaded_error", message: "Overloaded" } })],
    finish(finishReason) {
      reason = STOP_REASONS[finishReason];
      return closeText();
    },
    end: (counts) =>
      reason === undefined
        ? []
        : [
            event("message_delta", {
              delta: { stop_reason: reason, stop_sequence: null },
              usage: { ...usage, output_tokens: (counts ?? fixedUsage).completion_tokens },
            }),
            ...(hasDone ? [event("message_stop", {})] : []),
          ],
    comment: event("ping", {}),
  };
}
